// SPDX-License-Identifier: Apache-2.0
#include "analyzer/sqlext/sql_surface.h"

#include "analyzer/analyses/analysis_tables.h"
#include "analyzer/analyses/peaks.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/reports/report_tables.h"
#include "analyzer/sqlext/interval_functions.h"

namespace plumb {

Status registerSqlSurface(Trace& trace, const std::vector<Report>& reports) {
  if (Status added = registerAnalysisTables(trace); !added.ok()) return added;
  if (Status added = registerPeakFunction(trace.database()); !added.ok()) return added;
  if (Status added = registerIntervalFunctions(trace.database()); !added.ok()) return added;
  return registerReportTables(trace.database(), reports,
                              [&trace](const Filter& filter) { return checkFilter(trace, filter); });
}

}  // namespace plumb
