// SPDX-License-Identifier: Apache-2.0
#include "analyzer/reports/report_tables.h"

#include <fmt/format.h>

#include <utility>

#include "analyzer/trace/query_table.h"

namespace plumb {
namespace {

Result<ReportRequest> requestFrom(const Report& report, const std::vector<Cell>& arguments) {
  auto filter = filterFrom(arguments);
  if (!filter.ok()) return filter.error();
  ReportRequest request{std::move(filter).value(), {}};
  const Cell& by = arguments[static_cast<size_t>(Limit::By)];
  if (const auto* text = std::get_if<std::string>(&by)) {
    request.by = *text;
  } else if (!std::holds_alternative<std::nullptr_t>(by)) {
    return Error{fmt::format("The argument by of report_{} must be a text.", report.name)};
  }
  return request;
}

// SQLite finds by itself that the columns of a table depend on themselves; its sentence speaks of constructors.
Error explained(const Report& report, const Error& error) {
  if (error.message.find("constructor called recursively") == std::string::npos) return error;
  return Error{fmt::format("The report {} ({}) refers to itself, so it has no rows: its SQL leads back to report_{}.",
                           report.name, report.origin, report.name)};
}

}  // namespace

Status registerReportTables(Database& database, const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    QueryTable table;
    table.name = "report_" + report.name;
    for (const ReportParameter& parameter : kReportParameters) table.arguments.emplace_back(parameter.argument);
    table.open = [&database, report](const std::vector<Cell>& arguments) -> Result<Statement> {
      auto request = requestFrom(report, arguments);
      if (!request.ok()) return request.error();
      auto statement = prepareReport(database, report, request.value());
      if (!statement.ok()) return explained(report, statement.error());
      return statement;
    };
    if (Status added = database.addTable(std::move(table)); !added.ok()) return added;
  }
  return Unit{};
}

}  // namespace plumb
