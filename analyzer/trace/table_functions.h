// SPDX-License-Identifier: Apache-2.0
// What the modules behind table-valued functions share. Their arguments are hidden columns after the visible ones, each
// optional. For sources of this folder: these are SQLite's types.
#pragma once
#include <sqlite3.h>

#include <string>
#include <vector>

#include "analyzer/trace/computed_table.h"

namespace plumb {

// Set while a module declares its columns, which SQLite puts to the authorizer as if a table were created in the file.
struct Declaring {
  bool now = false;
};
[[nodiscard]] int declareTable(sqlite3* database, const char* declaration, Declaring& declaring);

// For xBestIndex: asks for every argument that is given; idxNum has a bit for each, and they arrive in xFilter in
// their own order. SQLITE_CONSTRAINT when one is not known yet, so that SQLite joins in another order.
[[nodiscard]] int takeArguments(sqlite3_index_info* info, int visibleColumns, int argumentCount);
// For xFilter: one cell per argument, NULL for those that are not given. Blobs are taken as text.
[[nodiscard]] std::vector<Cell> argumentsOf(int given, sqlite3_value** values, size_t argumentCount);

// Changes whenever the main file may have: by another program or through this connection.
[[nodiscard]] int64_t fileVersion(sqlite3* database);

// Sets the table's message; returns SQLITE_ERROR.
[[nodiscard]] int failTable(sqlite3_vtab* table, const char* message);

// A to Z in lower case, as SQLite compares names.
[[nodiscard]] std::string lowered(std::string text);

}  // namespace plumb
