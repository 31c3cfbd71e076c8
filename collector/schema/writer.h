// SPDX-License-Identifier: Apache-2.0
// Rows into the trace file: one prepared statement per table, big transactions, counts instead of errors. After the
// first failure of the file (disk full, gone) rows are only counted, so that draining never stops.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/schema/database.h"
#include "collector/schema/result.h"
#include "collector/schema/rows.h"

namespace plumb::schema {

class Writer {
 public:
  // The database has the tables of this version and nobody else writes to it.
  static Result<Writer> create(Database database);

  // A new id for a row of that table, from 1.
  template <class Row>
  [[nodiscard]] int64_t nextId() noexcept {
    return ++m_lastIds[Row::kTable];
  }

  template <class Row>
  void insert(const Row& row) noexcept {
    write(m_inserts[Row::kTable], row);
  }
  // For the few rows that describe things rather than events (process, thread, stream …): replaces the row of that key.
  template <class Row>
  void replace(const Row& row) noexcept {
    write(m_replaces[Row::kTable], row);
  }

  // Makes everything so far visible to readers and safe against the recorder's death.
  void commit() noexcept;
  // Commits when a batch is old or big enough. nowNs: CLOCK_MONOTONIC_RAW.
  void commitIfDue(int64_t nowNs) noexcept;

  // Ids given out for that table.
  template <class Row>
  [[nodiscard]] uint64_t idCount() const noexcept {
    return static_cast<uint64_t>(m_lastIds[Row::kTable]);
  }
  // Rows written in all / those that never reached the file.
  [[nodiscard]] uint64_t rowCount() const noexcept { return m_rows; }
  [[nodiscard]] uint64_t lostCount() const noexcept { return m_lost; }
  [[nodiscard]] bool failed() const noexcept { return !m_failure.empty(); }
  // SQLite's words for the first failure, empty: none.
  [[nodiscard]] const std::string& failure() const noexcept { return m_failure; }
  [[nodiscard]] Database& database() noexcept { return m_database; }
  // Gives up all statements, so that the database can be closed or change its journal.
  [[nodiscard]] Database release() && noexcept;

 private:
  explicit Writer(Database database) noexcept : m_database(std::move(database)) {}

  template <class Row>
  void write(Statement& statement, const Row& row) noexcept {
    ++m_rows;
    if (failed() || !beginBatch()) {
      ++m_lost;
      return;
    }
    row.visit([&](const auto&... values) { (bindValue(statement, values), ...); });
    ++m_batchRows;
    if (!statement.run()) noteFailure();
  }
  template <class T>
  static void bindValue(Statement& statement, const T& value) noexcept {
    statement.bind(value);
  }
  static void bindValue(Statement& statement, const Value& value) noexcept {
    std::visit([&](const auto& v) { statement.bind(v); }, value);
  }
  [[nodiscard]] bool beginBatch() noexcept;
  void noteFailure() noexcept;

  Database m_database;
  std::vector<Statement> m_inserts;
  std::vector<Statement> m_replaces;
  std::array<int64_t, kTables.size()> m_lastIds{};
  uint64_t m_rows = 0;
  uint64_t m_lost = 0;
  uint64_t m_batchRows = 0;
  int64_t m_batchStartNs = 0;
  bool m_inBatch = false;
  std::string m_failure;
};

}  // namespace plumb::schema
