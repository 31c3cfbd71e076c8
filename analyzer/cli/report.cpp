// SPDX-License-Identifier: Apache-2.0
// plumb report
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "analyzer/analyses/peaks.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/empty_reason.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/text.h"
#include "analyzer/reports/definitions.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {
namespace {

std::string namesOf(const std::vector<Report>& reports) {
  std::string names;
  for (const Report& report : reports) names += fmt::format("{}{}", names.empty() ? "" : ", ", report.name);
  return names;
}

}  // namespace

int listReports(const std::vector<std::string>& folders) {
  auto reports = findReports(folders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  for (const Report& report : reports.value()) {
    const std::string& text = report.problem.empty() ? report.question : report.problem;
    const bool isBuiltIn = report.origin == "built in" || !report.problem.empty();
    fmt::print("{:<22}  {}{}\n", escaped(report.name), escaped(text),
               isBuiltIn ? "" : fmt::format(" ({})", escaped(report.origin)));
  }
  fmt::print("\nThe columns of a report: plumb report NAME --columns\n");
  return kDone;
}

int describeReport(const std::string& name, const std::vector<std::string>& folders) {
  auto reports = findReports(folders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  for (const Report& report : reports.value()) {
    if (report.name != name) continue;
    if (!report.problem.empty()) return complain(report.problem, kBadInput);
    fmt::print("{}: {}\n\n", escaped(report.title), escaped(report.question));
    TextTable table({"column", "unit", "what it is"},
                    {TextTable::Align::Left, TextTable::Align::Left, TextTable::Align::Left});
    for (const ReportColumn& column : report.columns) {
      table.add({escaped(column.name), escaped(column.unit), escaped(column.description)});
    }
    fmt::print("{}\nFilters: {}\n", table.text(), report.optionList());
    if (!report.by.empty()) {
      std::string values;
      for (const std::string& value : report.by) {
        values += values.empty() ? escaped(value) + " (default)" : ", " + escaped(value);
      }
      fmt::print("--by: {}\n", values);
    }
    fmt::print("In SQL: report_{0}, or with filters report_{0}(rank, step, range, from_ns, to_ns, by)\n",
               escaped(report.name));
    return kDone;
  }
  return complain(fmt::format("There is no report {}; there are: {}.", name, namesOf(reports.value())), kBadInput);
}

int runReport(const ReportArguments& arguments) {
  const auto name = reportByDefinition(arguments.name, arguments.definition);
  if (!name.ok()) return complain(name.error().message, kBadInput);
  if (const Filter& filter = arguments.request.filter; filter.from && filter.to && *filter.to < *filter.from) {
    return complain("--from is after --to.", kBadInput);
  }
  auto reports = findReports(arguments.folders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  const auto report = std::find_if(reports.value().begin(), reports.value().end(),
                                   [&](const Report& r) { return r.name == name.value(); });
  if (report == reports.value().end()) {
    return complain(fmt::format("There is no report {}; there are: {}.", arguments.name, namesOf(reports.value())),
                    kBadInput);
  }
  auto opened = Trace::open(arguments.file);
  if (!opened.ok()) return complain(opened.error().message, kBadInput);
  Trace& trace = opened.value();
  if (const Status added = registerSqlSurface(trace, reports.value()); !added.ok())
    return complain(added.error().message, kFailed);
  for (const std::string& peak : arguments.peaks) {
    if (const Status given = givePeak(trace.database(), peak); !given.ok())
      return complain(given.error().message, kBadInput);
  }
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return complain(snapshot.status().error().message, kBadInput);
  auto statement = prepareReport(trace.database(), *report, arguments.request);
  if (!statement.ok()) return complain(statement.error().message, kBadInput);
  std::optional<Progress> progress;
  if (arguments.format == Format::Table || ::isatty(STDOUT_FILENO) == 0) {
    progress.emplace(trace.database());
    progress->begin("report " + escaped(report->name));
  }
  const auto written = writeRows(statement.value(), arguments.format, report->columns, stdout);
  progress.reset();
  if (!written.ok()) return complain(written.error().message, kFailed);
  if (written.value() == 0 && arguments.format == Format::Table) {
    if (const std::string why = whyEmpty(trace, *report, arguments.request); !why.empty()) fmt::print("{}\n", why);
  }
  return kDone;
}

}  // namespace plumb::cli
