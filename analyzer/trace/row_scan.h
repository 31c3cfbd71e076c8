// SPDX-License-Identifier: Apache-2.0
// Reads whole tables: from the file's pages where that can be done (table_pages.h), else in SQLite's own loop, which
// takes a third less time than Statement::next().
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

#include "analyzer/trace/database.h"
#include "analyzer/trace/table_pages.h"

namespace plumb {

// Every row of `SELECT columns FROM rest`, in the order of the table. At most 30 columns. `take` may use other
// statements of the database. Fastest where `rest` is a table alone and the columns are its own: a test of its values
// is cheaper in `take` than in a WHERE.
[[nodiscard]] Status scanRows(Database& database, std::string_view columns, std::string_view rest,
                              const std::function<void(const RowValues&)>& take);

// Likewise until `take` has seen enough and says false.
[[nodiscard]] Status scanRowsWhile(Database& database, std::string_view columns, std::string_view rest,
                                   const std::function<bool(const RowValues&)>& take);

// SQLite's result code; for registerFunctions().
[[nodiscard]] int registerRowScan(sqlite3* database) noexcept;

}  // namespace plumb
