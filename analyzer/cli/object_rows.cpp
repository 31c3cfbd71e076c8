// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/object_rows.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace plumb::cli {

Status writeObjects(Database& database, const nlohmann::json& rows, const std::vector<ReportColumn>& columns,
                    Format format, std::FILE* out) {
  std::string sql = "SELECT ";
  for (const ReportColumn& column : columns) {
    sql +=
        fmt::format("{0}json_extract(value, '$.{1}') AS \"{1}\"", &column == columns.data() ? "" : ", ", column.name);
  }
  auto statement = database.prepare(sql + " FROM json_each(:rows)");
  if (!statement.ok()) return statement.error();
  statement.value().bind(1, std::string_view(rows.dump()));
  const auto written = writeRows(statement.value(), format, columns, out);
  if (!written.ok()) return written.error();
  return Unit{};
}

}  // namespace plumb::cli
