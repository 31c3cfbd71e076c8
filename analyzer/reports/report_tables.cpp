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

Status addList(Database& database, const SharedReports& reports) {
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
  return database.addTable(std::move(list));
}

Status addColumns(Database& database, const SharedReports& reports) {
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

struct Surface {
  Database& database;
  std::vector<Report> reports;
  std::function<Status(const Filter&)> check;
};

Status addReport(const std::shared_ptr<const Surface>& surface, const Report& report) {
  QueryTable table;
  table.name = "report_" + report.name;
  for (const ReportParameter& parameter : kReportParameters) table.arguments.emplace_back(parameter.argument);
  table.open = [surface, &report](const std::vector<Cell>& arguments) -> Result<Statement> {
    auto request = requestFrom(report, arguments);
    if (!request.ok()) return request.error();
    auto statement = prepareReport(surface->database, report, request.value());
    if (!statement.ok()) return explained(report, statement.error());
    const Status known = surface->check(report.lookedUp(request.value().filter));
    if (!known.ok()) return known.error();
    return statement;
  };
  return surface->database.addTable(std::move(table));
}

}  // namespace

Status registerReportTables(Database& database, const std::vector<Report>& reports,
                            const std::function<Status(const Filter&)>& check) {
  const auto surface = std::make_shared<const Surface>(Surface{database, reports, check});
  for (const Report& report : surface->reports) {
    // check() looks for a filter's step by the view.
    Status added = addTableWhenNamed(database, "report_" + report.name, report.sql + "\nsteps",
                                     [surface, &report] { return addReport(surface, report); });
    if (!added.ok()) return added;
  }
  const SharedReports all(surface, &surface->reports);
  if (Status added =
          addTableWhenNamed(database, "plumb_reports", {}, [=, &database] { return addList(database, all); });
      !added.ok())
    return added;
  return addTableWhenNamed(database, "plumb_report_columns", {}, [=, &database] { return addColumns(database, all); });
}

}  // namespace plumb
