// SPDX-License-Identifier: Apache-2.0
// A read-only SQL table whose rows the program gives, called as a table-valued function: NAME(argument, …), each
// argument optional. Its arguments are hidden columns after the visible ones. It has a name alone and cannot become
// part of a file's schema. Database::addTable adds one.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "analyzer/trace/row_store.h"
#include "collector/schema/result.h"

namespace plumb {

struct TableFunction {
  std::string name;
  std::vector<std::string> arguments;
  // The visible columns as SQL declares them: `rank INTEGER`, `"a name"`. Called before the first use.
  std::function<Result<std::vector<std::string>>()> columns;
  // Called when a statement reads the table, with a cell per argument, NULL for one that is not given. An error becomes
  // the statement's.
  std::function<Result<RowStore>(const std::vector<Cell>& arguments)> rows;
  // The rows depend on the main file and the arguments alone; they are kept until the file changes. Otherwise a
  // statement keeps them while it runs.
  bool isOfFileAlone = true;
  // SQL that names the schema's views which `columns` and `rows` read: while a statement runs, none can be made.
  std::string reads;
};

// A name as SQL quotes it.
[[nodiscard]] std::string quotedName(const std::string& name);

}  // namespace plumb
