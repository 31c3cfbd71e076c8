// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/query_table.h"

#include <memory>
#include <utility>

#include "analyzer/trace/table_function.h"

namespace plumb {

Status Database::addTable(QueryTable table) {
  const auto shared = std::make_shared<const QueryTable>(std::move(table));
  TableFunction function;
  function.name = shared->name;
  function.arguments = shared->arguments;
  function.columns = [shared]() -> Result<std::vector<std::string>> {
    const auto statement = shared->open(std::vector<Cell>(shared->arguments.size()));
    if (!statement.ok()) return statement.error();
    std::vector<std::string> columns;
    for (int i = 0; i < statement.value().columnCount(); ++i) {
      columns.push_back(quotedName(std::string(statement.value().columnName(i))));
    }
    return columns;
  };
  function.rows = [shared](const std::vector<Cell>& arguments) -> Result<RowStore> {
    auto statement = shared->open(arguments);
    if (!statement.ok()) return statement.error();
    RowStore rows;
    while (statement.value().next()) rows.add(statement.value());
    if (const Status status = statement.value().status(); !status.ok()) return status.error();
    return rows;
  };
  return addTable(std::move(function));
}

}  // namespace plumb
