// SPDX-License-Identifier: Apache-2.0
#include "gui/async/advice_data.h"

#include "analyzer/advice/rule_file.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/trace.h"

namespace plumb::gui {

Result<Advice> loadAdvice(const std::string& path, const Filter& filter, const std::function<bool()>& goOn) {
  auto reports = findReports(userReportFolders());
  if (!reports.ok()) return reports.error();
  auto opened = Trace::open(path);
  if (!opened.ok()) return opened.error();
  Trace& trace = opened.value();
  if (const Status added = registerSqlSurface(trace, reports.value()); !added.ok()) return added.error();
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return snapshot.status().error();
  RuleLimits limits;
  limits.goOn = goOn;
  return advise(trace, filter, userRuleFolders(), limits);
}

}  // namespace plumb::gui
