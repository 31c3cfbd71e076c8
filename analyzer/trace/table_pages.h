// SPDX-License-Identifier: Apache-2.0
// Rows of whole numbers, read out of the file's own pages: a fifth of the time that SQLite's loop takes. Only for a
// file that has its tables as this schema writes them, is not in log mode, and is not written by the same connection.
// The format: https://www.sqlite.org/fileformat2.html
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/trace/ids.h"
#include "analyzer/trace/time.h"

struct sqlite3;

namespace plumb {

struct ConnectionState;

// The values of the row that is being taken, in the order in which they are wanted. NULL reads as 0.
class RowValues {
 public:
  RowValues(const int64_t* values, uint32_t nulls) : m_values(values), m_nulls(nulls) {}
  [[nodiscard]] int64_t integer(int column) const { return m_values[column]; }
  [[nodiscard]] bool isNull(int column) const { return m_nulls >> column & 1; }
  template <class SomeId>
  [[nodiscard]] SomeId id(int column) const {
    return SomeId(integer(column));
  }
  [[nodiscard]] TimePoint time(int column) const { return TimePoint(integer(column)); }

 private:
  const int64_t* m_values;
  uint32_t m_nulls;
};

// How a walk through a table's pages ended.
enum class Walk : uint8_t {
  Done,
  Stopped,   // one of the callbacks wanted no more
  Unusable,  // this is not for here: SQLite has to read it, and to say what is wrong
};

// What is known of a file's tables. Not thread-safe.
class TablePages {
 public:
  // Where the connection's main file has each of its tables begin; `schemaCookie` is the file's number of that state.
  struct Root {
    std::string table;
    uint32_t page;
  };
  TablePages(std::vector<Root> roots, uint32_t schemaCookie)
      : m_roots(std::move(roots)), m_schemaCookie(schemaCookie) {}

  struct Callbacks {
    const std::function<bool(const RowValues&)>& take;
    const std::function<bool()>& goOn;  // asked before each page of rows
  };
  // Gives these columns of the rows, in the order of the rows' ids, and counts the rows in `given`. The caller holds a
  // read transaction until it returns. At most 32 columns.
  [[nodiscard]] Walk forEachRow(sqlite3* database, const std::string& table, const std::vector<std::string>& columns,
                                const Callbacks& callbacks, size_t& given);

 private:
  struct Column {
    std::string name;
    bool isRowId;  // the table's INTEGER PRIMARY KEY
  };
  [[nodiscard]] const std::vector<Column>& columnsOf(sqlite3* database, const std::string& table);

  std::vector<Root> m_roots;
  uint32_t m_schemaCookie;
  std::map<std::string, std::vector<Column>> m_columns;  // by table, of those that were asked for
};

}  // namespace plumb
