// SPDX-License-Identifier: Apache-2.0
// Each report as a table of SQL, report_NAME, made from the report's own SQL: what `plumb report NAME` prints and what
// `SELECT * FROM report_NAME` gives can never differ. Called as a function it takes what the report takes:
// report_NAME(rank, step, range, from_ns, to_ns, by), NULL for no limit. Beside them the tables plumb_reports (name,
// title, question, filters, by_values, origin, problem) and plumb_report_columns (report, position, name, unit,
// description).
#pragma once
#include <functional>
#include <vector>

#include "analyzer/reports/reports.h"
#include "analyzer/trace/database.h"

namespace plumb {

// `database` must not be moved while its connection is in use. check() says what is wrong with a filter, before a
// report is asked: each report would say it differently, and some not at all. A report whose SQL does not work is an
// error only for the statement that names it, and so is one that refers to itself.
[[nodiscard]] Status registerReportTables(Database& database, const std::vector<Report>& reports,
                                          const std::function<Status(const Filter&)>& check);

}  // namespace plumb
