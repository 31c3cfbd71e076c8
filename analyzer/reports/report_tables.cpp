// SPDX-License-Identifier: Apache-2.0
#include "analyzer/reports/report_tables.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "analyzer/trace/computed_table.h"
#include "analyzer/trace/query_table.h"
#include "analyzer/trace/table_function.h"

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

std::string joinedBy(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

using SharedReports = std::shared_ptr<const std::vector<Report>>;

Status registerLists(Database& database, const SharedReports& reports) {
  TableFunction list;
  list.name = "plumb_reports";
  list.isOfFileAlone = false;
  list.columns = []() -> Result<std::vector<std::string>> {
    return std::vector<std::string>{"name", "title", "question", "filters", "by_values", "origin", "problem"};
  };
  list.rows = [reports](const std::vector<Cell>&) -> Result<RowStore> {
    RowStore rows;
    for (const Report& report : *reports) {
      rows.add({report.name, report.title, report.question, report.optionList(), joinedBy(report.by), report.origin,
                report.problem.empty() ? Cell(nullptr) : Cell(report.problem)});
    }
    return rows;
  };
  if (Status added = database.addTable(std::move(list)); !added.ok()) return added;

  TableFunction columns;
  columns.name = "plumb_report_columns";
  columns.isOfFileAlone = false;
  columns.columns = []() -> Result<std::vector<std::string>> {
    return std::vector<std::string>{"report", "position INTEGER", "name", "unit", "description"};
  };
  columns.rows = [reports](const std::vector<Cell>&) -> Result<RowStore> {
    RowStore rows;
    for (const Report& report : *reports) {
      int64_t position = 0;
      for (const ReportColumn& column : report.columns) {
        rows.add({report.name, position++, column.name, column.unit, column.description});
      }
    }
    return rows;
  };
  return database.addTable(std::move(columns));
}

}  // namespace

Status registerReportTables(Database& database, const std::vector<Report>& reports,
                            const std::function<Status(const Filter&)>& check) {
  const auto shared = std::make_shared<const std::vector<Report>>(reports);
  for (const Report& report : *shared) {
    QueryTable table;
    table.name = "report_" + report.name;
    table.reads = report.sql + "\nsteps";  // by which check() looks for a step
    for (const ReportParameter& parameter : kReportParameters) table.arguments.emplace_back(parameter.argument);
    table.open = [&database, shared, &report, check](const std::vector<Cell>& arguments) -> Result<Statement> {
      auto request = requestFrom(report, arguments);
      if (!request.ok()) return request.error();
      auto statement = prepareReport(database, report, request.value());
      if (!statement.ok()) return explained(report, statement.error());
      if (const Status known = check(report.lookedUp(request.value().filter)); !known.ok()) return known.error();
      return statement;
    };
    if (Status added = database.addTable(std::move(table)); !added.ok()) return added;
  }
  return registerLists(database, shared);
}

}  // namespace plumb
