// SPDX-License-Identifier: Apache-2.0
// A read-only SQL table whose rows the program gives, called as a table-valued function: NAME(argument, …), each
// argument optional. Its arguments are hidden columns after the visible ones. It has a name alone and cannot become
// part of a file's schema. Database::addTable adds one.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/row_store.h"
#include "collector/schema/result.h"

namespace plumb {

class Database;

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
};

// Lets `add` add the table of that name when a statement first names it, where that can be seen; else it does so now.
// `reads`: SQL that names what the table's rows are made of, as none of the schema's views can be made while a
// statement runs.
[[nodiscard]] Status addTableWhenNamed(Database& database, std::string_view name, std::string reads,
                                       std::function<Status()> add);

// A name as SQL quotes it.
[[nodiscard]] std::string quotedName(const std::string& name);

}  // namespace plumb
