// SPDX-License-Identifier: Apache-2.0
// A read-only SQL table whose rows a statement gives, called as a table-valued function: NAME(argument, …), each
// argument optional. The statement runs when the table is read; its rows are kept for each list of arguments until the
// file changes.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "analyzer/trace/database.h"
#include "analyzer/trace/row_store.h"
#include "collector/schema/result.h"

namespace plumb {

struct QueryTable {
  std::string name;
  std::vector<std::string> arguments;  // names of the hidden columns that are the function's arguments
  // The statement, ready to run. Called with one cell per argument, NULL for one that is not given, and once with NULLs
  // only, for the names of the columns.
  std::function<Result<Statement>(const std::vector<Cell>& arguments)> open;
};

}  // namespace plumb
