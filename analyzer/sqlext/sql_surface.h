// SPDX-License-Identifier: Apache-2.0
// Everything that SQL has on a trace beside the schema's views and SQLite's functions, the same for `plumb query`,
// `plumb report` and libplumb_sql.so: the analyses (analyses/analysis_tables.h), the reports (reports/report_tables.h)
// and the interval functions. The functions of trace/functions.h are there from the start.
#pragma once
#include <vector>

#include "analyzer/reports/reports.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// The trace must not be moved or closed while its connection is in use.
[[nodiscard]] Status registerSqlSurface(Trace& trace, const std::vector<Report>& reports);

}  // namespace plumb
