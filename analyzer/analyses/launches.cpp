// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/launches.h"

#include <algorithm>
#include <tuple>

#include "analyzer/intervals/gallop.h"

namespace plumb {

Result<LaunchIndex> LaunchIndex::load(Trace& trace) {
  // Most calls launch nothing, so the correlations of the GPU's work say which calls to keep.
  struct Wanted {
    std::vector<Correlation> correlations;
    size_t hint = 0;
  };
  std::unordered_map<ProcessId, Wanted> wanted;
  for (const char* sql :
       {"SELECT process_id, correlation FROM main.kernel", "SELECT process_id, correlation FROM main.memory_copy",
        "SELECT process_id, correlation FROM main.memory_set"}) {
    auto rows = trace.query(sql);
    if (!rows.ok()) return rows.error();
    while (rows.value().next())
      wanted[rows.value().id<ProcessId>(0)].correlations.push_back(rows.value().id<Correlation>(1));
    if (const Status status = rows.value().status(); !status.ok()) return status.error();
  }
  for (auto& [process, mine] : wanted) {
    auto& correlations = mine.correlations;
    std::sort(correlations.begin(), correlations.end());
    correlations.erase(std::unique(correlations.begin(), correlations.end()), correlations.end());
  }

  LaunchIndex index;
  auto rows = trace.query("SELECT process_id, correlation, thread_id, start_ns FROM main.api_call");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    const auto mine = wanted.find(row.id<ProcessId>(0));
    if (mine == wanted.end()) continue;
    const Launch launch{row.id<Correlation>(1), row.id<ThreadId>(2), row.time(3)};
    auto& [correlations, hint] = mine->second;
    hint = partitionPointNear(correlations, hint, [&](Correlation c) { return c < launch.correlation; });
    if (hint == correlations.size() || correlations[hint] != launch.correlation) continue;
    index.m_launches[mine->first].push_back(launch);
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  for (auto& [process, launches] : index.m_launches) {
    std::sort(launches.begin(), launches.end(), [](const Launch& a, const Launch& b) {
      return std::tie(a.correlation, a.start) < std::tie(b.correlation, b.start);
    });
  }
  return index;
}

const Launch* LaunchIndex::find(ProcessId process, Correlation correlation) const {
  const auto launches = m_launches.find(process);
  if (launches == m_launches.end()) return nullptr;
  const auto found = std::partition_point(launches->second.begin(), launches->second.end(),
                                          [&](const Launch& launch) { return launch.correlation < correlation; });
  return found != launches->second.end() && found->correlation == correlation ? &*found : nullptr;
}

}  // namespace plumb
