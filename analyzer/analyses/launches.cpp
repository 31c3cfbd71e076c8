// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/launches.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/analyses/windows.h"
#include "analyzer/analyses/work_by_launch.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/sort_runs.h"

namespace plumb {
namespace {

constexpr const char* kCallsOfLaunch =
    "SELECT thread_id, start_ns, duration_ns FROM main.api_call WHERE process_id = ?1 AND correlation = ?2";

}  // namespace

Result<LaunchIndex> LaunchIndex::load(Trace& trace) {
  Wanted wanted;
  std::vector<Correlation>* mine = nullptr;  // of the last row's process
  ProcessId process;
  const Status read = forEachWork(trace, [&](const WorkRow& work) {
    if (!mine || process != work.process) {
      process = work.process;
      mine = &wanted[process];
    }
    mine->push_back(work.correlation);
  });
  if (!read.ok()) return read.error();
  return load(trace, std::move(wanted));
}

Result<LaunchIndex> LaunchIndex::load(Trace& trace, const std::vector<DeviceTimeline>& timelines) {
  Wanted wanted;
  for (const DeviceTimeline& timeline : timelines) {
    auto& correlations = wanted[timeline.process];
    correlations.reserve(correlations.size() + timeline.events.size());
    for (const DeviceEvent& event : timeline.events) correlations.push_back(event.correlation);
  }
  return load(trace, std::move(wanted));
}

Status LaunchIndex::lookUp(Trace& trace, ProcessId process, const std::vector<Correlation>& correlations) {
  auto calls = trace.query(kCallsOfLaunch);
  if (!calls.ok()) return calls.error();
  Statement& row = calls.value();
  for (const Correlation correlation : correlations) {
    row.reset();
    row.bind(1, process.value());
    row.bind(2, correlation.value());
    while (row.next()) {
      const bool isTimed = isUsableTime(row.integer(1), row.integer(2));
      m_launches[process].launches.push_back({correlation, row.id<ThreadId>(0), row.time(1),
                                              isTimed ? intervalOf(row.integer(1), row.integer(2)).end : kAllTime.end});
    }
    if (const Status status = row.status(); !status.ok()) return status;
  }
  return Unit{};
}

// Most calls launch nothing, so the correlations of the GPU's work say which calls to keep.
Result<LaunchIndex> LaunchIndex::load(Trace& trace, Wanted wanted) {
  struct Correlations {
    std::vector<Correlation> sorted;
    size_t hint = 0;
  };
  std::unordered_map<ProcessId, Correlations> byProcess;
  size_t count = 0;
  for (auto& [process, correlations] : wanted) {
    if (!std::is_sorted(correlations.begin(), correlations.end())) std::sort(correlations.begin(), correlations.end());
    correlations.erase(std::unique(correlations.begin(), correlations.end()), correlations.end());
    count += correlations.size();
    byProcess[process].sorted = std::move(correlations);
  }
  const auto few = fewLaunches(trace);
  if (!few.ok()) return few.error();

  LaunchIndex index;
  const auto lookUp = findsByLaunch(trace, kCallsOfLaunch);
  if (!lookUp.ok()) return lookUp.error();
  if (!trace.sharedLoads() && lookUp.value() && count <= few.value()) {
    for (const auto& [process, correlations] : byProcess) {
      if (Status found = index.lookUp(trace, process, correlations.sorted); !found.ok()) return found.error();
    }
  } else {
    const Status read = forEachCall(trace, [&](const CallRow& call) {
      const auto mine = byProcess.find(call.process);
      if (mine == byProcess.end()) return;
      auto& [correlations, hint] = mine->second;
      hint = partitionPointNear(correlations, hint, [&](Correlation c) { return c < call.correlation; });
      if (hint == correlations.size() || correlations[hint] != call.correlation) return;
      index.m_launches[mine->first].launches.push_back(
          {call.correlation, call.thread, call.start, call.isTimed ? call.time.end : kAllTime.end});
    });
    if (!read.ok()) return read.error();
  }
  for (auto& [process, mine] : index.m_launches) {
    sortRuns(mine.launches, [](const Launch& a, const Launch& b) {
      return std::tie(a.correlation, a.start) < std::tie(b.correlation, b.start);
    });
    mine.makePlaces();
  }
  return index;
}

void LaunchIndex::OfProcess::makePlaces() {
  constexpr uint64_t kLongestStep = 8;
  first = launches.front().correlation.value();
  const uint64_t range = static_cast<uint64_t>(launches.back().correlation.value()) - static_cast<uint64_t>(first);
  if (range / kLongestStep > launches.size() || launches.size() >= UINT32_MAX) return;
  places.resize(range + 1);
  for (size_t i = launches.size(); i-- > 0;) {  // of several the first stays
    places[static_cast<size_t>(launches[i].correlation.value() - first)] = static_cast<uint32_t>(i + 1);
  }
}

const Launch* LaunchIndex::find(ProcessId process, Correlation correlation) const {
  const auto mine = m_launches.find(process);
  if (mine == m_launches.end()) return nullptr;
  const auto& [launches, first, places] = mine->second;
  if (!places.empty()) {
    const uint64_t place = static_cast<uint64_t>(correlation.value()) - static_cast<uint64_t>(first);
    return place < places.size() && places[place] ? &launches[places[place] - 1] : nullptr;
  }
  const auto found = std::partition_point(launches.begin(), launches.end(),
                                          [&](const Launch& launch) { return launch.correlation < correlation; });
  return found != launches.end() && found->correlation == correlation ? &*found : nullptr;
}

}  // namespace plumb
