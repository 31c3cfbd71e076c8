// SPDX-License-Identifier: Apache-2.0
// An SQLite export of Nsight Systems, whose tables and columns depend on its version: asked for, never assumed. The
// file is a stranger's: only real tables and real columns are seen, no view and no generated column of it is ever run.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/database.h"
#include "collector/schema/result.h"

namespace plumb::import {

// The columns asked for, of one row; a column that the table lacks is null.
class NsysRow {
 public:
  explicit NsysRow(const Statement& statement) : m_statement(statement) {}
  // Columns count from 0, in the order in which they were asked for.
  // No value: null, or a text or blob that is no whole number. SQLite lets any column hold any of these.
  [[nodiscard]] std::optional<int64_t> integer(int column) const;
  [[nodiscard]] int64_t integerOr(int column, int64_t fallback) const { return integer(column).value_or(fallback); }
  [[nodiscard]] double real(int column) const { return m_statement.real(column + 1); }
  [[nodiscard]] std::string_view text(int column) const { return m_statement.text(column + 1); }
  [[nodiscard]] std::string_view bytes(int column) const { return m_statement.blob(column + 1); }
  [[nodiscard]] ValueType type(int column) const { return m_statement.type(column + 1); }
  [[nodiscard]] bool isNull(int column) const { return m_statement.isNull(column + 1); }

 private:
  const Statement& m_statement;  // column 0 is the row id
};

// Rows that could not be read.
struct NsysDamage {
  std::string table;
  int64_t readRows = 0;
  int64_t lostRows = 0;   // at most, by the row ids between what could be read
  bool isEndLost = true;  // what follows the last row that could be read, if anything does
};

class NsysSource {
 public:
  [[nodiscard]] static Result<NsysSource> open(const std::string& path);

  // False: some other program's database.
  [[nodiscard]] bool isNsys() const;
  // The table's real name: newer exports have carried a suffix (_V2). Empty: there is none.
  [[nodiscard]] std::string nameOf(std::string_view table) const;
  [[nodiscard]] bool has(std::string_view table) const { return !nameOf(table).empty(); }
  [[nodiscard]] bool has(std::string_view table, std::string_view column) const;
  [[nodiscard]] std::vector<std::string> tables() const;
  [[nodiscard]] std::vector<std::string> columns(std::string_view table) const;
  // An integer column that is the table's row id, so that a row is found by it without a search.
  [[nodiscard]] bool isRowId(std::string_view table, std::string_view column) const;
  // From the row ids, without reading the table; 0 when it is empty or absent.
  [[nodiscard]] int64_t estimatedRows(std::string_view table);
  // By reading it; what damage allows.
  [[nodiscard]] int64_t countRows(std::string_view table);

  // Gives each row that can be read, in the order of the file unless `order` (a column) is given. A column can be named
  // with older names behind it ("syncType|deprecatedSyncType"): the first that is there and not null counts. Damage
  // costs the rows that lie there, at each of its places, and now and then good ones between two of them. where: a
  // condition over columns that are there; empty: all rows.
  void forEach(std::string_view table, const std::vector<const char*>& columns,
               const std::function<void(const NsysRow&)>& take, const char* order = nullptr,
               const std::string& where = {});

  [[nodiscard]] bool isDamaged() const { return m_database.isDamaged(); }
  [[nodiscard]] const std::vector<NsysDamage>& damage() const { return m_damage; }
  [[nodiscard]] Database& database() { return m_database; }

  // Tables that forEach or a caller's own query has read.
  void markRead(std::string_view table) { m_read.insert(std::string(table)); }
  [[nodiscard]] bool wasRead(const std::string& table) const { return m_read.count(table) != 0; }

 private:
  struct Table {
    std::vector<std::string> columns;
    std::string rowId;  // the column that is the row id; empty: none
  };

  explicit NsysSource(Database database) : m_database(std::move(database)) {}
  [[nodiscard]] Status readTables();
  void noteDamage(const NsysDamage& damage);  // once for a table, however often it is read
  // From the end of the table up to the row id `last`.
  void readBackwards(const std::string& from, int64_t last, const std::function<void(const NsysRow&)>& take,
                     NsysDamage& damage);
  [[nodiscard]] std::string selection(const Table& table, const std::vector<const char*>& columns) const;

  Database m_database;
  std::map<std::string, Table, std::less<>> m_tables;
  std::set<std::string> m_read;
  std::vector<NsysDamage> m_damage;
};

}  // namespace plumb::import
