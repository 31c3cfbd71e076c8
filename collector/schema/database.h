// SPDX-License-Identifier: Apache-2.0
// SQLite with owners: a connection and its statements. Nothing here throws; a failed call gives SQLite's own message.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "collector/schema/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace plumb::schema {

struct CloseDatabase {
  void operator()(sqlite3* database) const noexcept;
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const noexcept;
};

// One prepared statement. bind() counts columns by itself; run() executes and makes it ready for the next row.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) noexcept : m_statement(statement) {}

  void bind(int64_t value) noexcept;
  void bind(double value) noexcept;  // not a number becomes null, as SQLite has none
  // The text must stay valid until run() returns.
  void bind(std::string_view value) noexcept;
  void bindNull() noexcept;
  template <class T>
  void bind(const std::optional<T>& value) noexcept {
    if (value) {
      bind(*value);
    } else {
      bindNull();
    }
  }
  // False when SQLite reports an error (disk full, constraint).
  [[nodiscard]] bool run() noexcept;
  // For queries: steps to the next row; false at the end.
  [[nodiscard]] bool next() noexcept;
  [[nodiscard]] int64_t integer(int column) const noexcept;
  [[nodiscard]] std::string text(int column) const;

 private:
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> m_statement;
  int m_bound = 0;
};

// None: for a file that no other connection knows.
enum class Locking : uint8_t { Usual, None };

class Database {
 public:
  // Opens an existing file for reading and writing, for use by one thread.
  static Result<Database> open(const std::string& path, Locking locking = Locking::Usual);

  [[nodiscard]] Status execute(const std::string& sql);
  [[nodiscard]] Result<Statement> prepare(const std::string& sql);
  // The first column of the first row, empty when there is none or on an error.
  [[nodiscard]] std::string queryText(const std::string& sql);
  [[nodiscard]] std::string lastError() const;
  // The last call failed because of its row only (a null where none may be, a second row of the same key).
  [[nodiscard]] bool isConstraintViolation() const;
  // The last call failed because another connection holds a lock.
  [[nodiscard]] bool isBusy() const;

 private:
  explicit Database(sqlite3* database) noexcept : m_database(database) {}
  std::unique_ptr<sqlite3, CloseDatabase> m_database;
};

}  // namespace plumb::schema
