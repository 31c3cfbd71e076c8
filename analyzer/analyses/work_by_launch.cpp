// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/work_by_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/trace/row_scan.h"

namespace plumb {
namespace {

using Launch = std::pair<ProcessId, Correlation>;

constexpr const char* kWorkTables[] = {"kernel", "memory_copy", "memory_set"};
constexpr std::string_view kOfOneLaunch = "WHERE process_id = ?1 AND correlation = ?2";

// The launches in there, each once and in order; none when they are more than looking up pays for.
Result<std::optional<std::vector<Launch>>> launchesIn(Trace& trace, const std::map<ProcessId, Interval>& times) {
  const auto few = fewLaunches(trace);
  if (!few.ok()) return few.error();
  const size_t most = few.value();
  Interval hull = times.begin()->second;
  for (const auto& [process, time] : times) hull = {std::min(hull.start, time.start), std::max(hull.end, time.end)};
  std::vector<Launch> launches;
  const Status read =
      scanRowsWhile(trace.database(), "process_id, correlation, start_ns",
                    fmt::format("main.api_call WHERE start_ns >= {} AND start_ns < {}", hull.start.ns(), hull.end.ns()),
                    [&](const RowValues& row) {
                      const auto mine = times.find(row.id<ProcessId>(0));
                      if (mine != times.end() && mine->second.contains(row.time(2))) {
                        launches.emplace_back(mine->first, row.id<Correlation>(1));
                      }
                      return launches.size() <= most;
                    });
  if (!read.ok()) return read.error();
  if (launches.size() > most) return std::optional<std::vector<Launch>>();
  std::ranges::sort(launches);
  launches.erase(std::unique(launches.begin(), launches.end()), launches.end());
  return std::optional(std::move(launches));
}

}  // namespace

// Asking for the index by name would make all views (SchemaViews).
Result<bool> findsByLaunch(Trace& trace, const std::string& sql) {
  auto plan = trace.query("EXPLAIN QUERY PLAN " + sql);
  if (!plan.ok()) return plan.error();
  constexpr int kDetail = 3;
  bool uses = false;
  while (plan.value().next()) {
    // By the process alone it would still read all.
    if (plan.value().text(kDetail).find("correlation=?") != std::string_view::npos) uses = true;
  }
  if (const Status status = plan.value().status(); !status.ok()) return status.error();
  return uses;
}

Result<size_t> fewLaunches(Trace& trace) {
  constexpr int64_t kShare = 8;  // a lookup costs about as much as reading so many rows
  auto last = trace.query("SELECT max(id) FROM main.api_call");
  if (!last.ok()) return last.error();
  return last.value().next() ? static_cast<size_t>(std::max<int64_t>(0, last.value().integer(0) / kShare)) : 0;
}

Result<std::optional<std::vector<LaunchedWorkTime>>> findWorkLaunchedIn(Trace& trace,
                                                                        const std::map<ProcessId, Interval>& times) {
  using Found = std::optional<std::vector<LaunchedWorkTime>>;
  if (times.empty()) return Found(std::vector<LaunchedWorkTime>());
  const std::string firstCall = fmt::format("SELECT min(start_ns) FROM main.api_call {}", kOfOneLaunch);
  std::vector<std::string> queries = {firstCall};
  for (const char* table : kWorkTables) {
    queries.push_back(
        fmt::format("SELECT start_ns, duration_ns FROM main.{} {} AND flags & 1 = 0", table, kOfOneLaunch));
  }
  std::vector<Statement> statements;
  for (const std::string& query : queries) {
    const auto isFast = findsByLaunch(trace, query);
    if (!isFast.ok()) return isFast.error();
    if (!isFast.value()) return Found();
    auto statement = trace.query(query);
    if (!statement.ok()) return statement.error();
    statements.push_back(std::move(statement).value());
  }
  auto launches = launchesIn(trace, times);
  if (!launches.ok()) return launches.error();
  if (!launches.value()) return Found();
  std::vector<LaunchedWorkTime> work;
  for (const auto& [process, correlation] : *launches.value()) {
    for (Statement& statement : statements) {
      statement.reset();
      statement.bind(1, process.value());
      statement.bind(2, correlation.value());
    }
    if (!statements[0].next())
      return statements[0].status().ok() ? Error{"a call is gone"} : statements[0].status().error();
    const TimePoint launch = statements[0].time(0);
    if (!times.at(process).contains(launch)) continue;
    for (size_t i = 1; i < statements.size(); ++i) {
      Statement& row = statements[i];
      while (row.next()) {
        if (!isUsableTime(row.integer(0), row.integer(1))) continue;
        work.push_back({process, launch, intervalOf(row.integer(0), row.integer(1))});
      }
      if (const Status status = row.status(); !status.ok()) return status.error();
    }
  }
  return Found(std::move(work));
}

}  // namespace plumb
