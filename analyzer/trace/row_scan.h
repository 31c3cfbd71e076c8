// SPDX-License-Identifier: Apache-2.0
// Reads whole tables: the rows do not leave SQLite's own loop, which takes a third less time than Statement::next().
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

#include "analyzer/trace/database.h"

struct sqlite3_value;

namespace plumb {

// The values of the row that is being taken. NULL reads as 0.
class RowValues {
 public:
  explicit RowValues(sqlite3_value** values) : m_values(values) {}
  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] bool isNull(int column) const;
  template <class SomeId>
  [[nodiscard]] SomeId id(int column) const {
    return SomeId(integer(column));
  }
  [[nodiscard]] TimePoint time(int column) const { return TimePoint(integer(column)); }

 private:
  sqlite3_value** m_values;
};

// Every row of `SELECT columns FROM rest`, in the order of the table. At most 30 columns. `take` may use other
// statements of the database.
[[nodiscard]] Status scanRows(Database& database, std::string_view columns, std::string_view rest,
                              const std::function<void(const RowValues&)>& take);

// Likewise until `take` has seen enough and says false.
[[nodiscard]] Status scanRowsWhile(Database& database, std::string_view columns, std::string_view rest,
                                   const std::function<bool(const RowValues&)>& take);

// SQLite's result code; for registerFunctions().
[[nodiscard]] int registerRowScan(sqlite3* database) noexcept;

}  // namespace plumb
