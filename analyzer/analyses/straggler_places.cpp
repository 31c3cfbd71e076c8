// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/straggler_places.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/analyses/data_loading.h"
#include "analyzer/analyses/host_activity.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/range_times.h"

namespace plumb {
namespace {

using Windows = std::map<ProcessId, IntervalSet>;
using Times = std::map<ProcessId, std::map<StringId, Duration>>;  // by range

// The times before the collectives that each rank was last in because of its phase.
Windows windowsOf(const CollectiveAnalysis& analysis, const std::vector<std::optional<Lateness>>& explained,
                  const std::map<ProcessId, RankLateness>& ranks) {
  std::map<ProcessId, std::vector<Interval>> found;
  for (size_t i = 0; i < analysis.instances.size(); ++i) {
    const CollectiveInstance& instance = analysis.instances[i];
    if (!explained[i] || !instance.isInFilter) continue;
    const ProcessId process = instance.members[instance.lastArrival].process;
    if (ranks.at(process).phase() == explained[i]->phase()) found[process].push_back(explained[i]->window);
  }
  Windows windows;
  for (auto& [process, intervals] : found) windows[process] = IntervalSet::unionOf(std::move(intervals));
  return windows;
}

Status addWork(Trace& trace, const RangeForest& ranges, const std::map<ProcessId, RankLateness>& ranks,
               const Windows& windows, Times& times) {
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto calls = HostCallIndex::load(trace);
  if (!calls.ok()) return calls.error();
  return forEachLaunchedWork(trace, classifier.value(), calls.value(), [&](const LaunchedWork& work) {
    const auto window = windows.find(work.process);
    if (window == windows.end() || !work.call) return;
    const auto phase = ranks.at(work.process).phase();
    const auto wanted = phase == LatePhase::Compute  ? std::optional(GpuEventKind::Compute)
                        : phase == LatePhase::Copies ? std::optional(GpuEventKind::Memory)
                                                     : std::nullopt;
    if (work.kind != wanted) return;
    const Duration inside = window->second.lengthWithin(work.time);
    if (inside.ns() == 0) return;
    if (const auto node = ranges.innermost(work.call->thread, work.call->time)) {
      times[work.process][ranges.nameOf(*node)] += inside;
    }
  });
}

void addLoading(Trace& trace, const RangeForest& ranges, const std::map<ProcessId, RankLateness>& ranks,
                const Windows& windows, Times& times) {
  std::unordered_map<StringId, bool> loads;
  for (const RangeForest::Range& range : ranges.ranges()) {
    const auto window = windows.find(range.process);
    if (window == windows.end() || !range.duration || ranks.at(range.process).phase() != LatePhase::DataLoading)
      continue;
    const auto [known, isNew] = loads.emplace(range.name, false);
    if (isNew) known->second = isDataLoadingName(trace.text(range.name));
    if (!known->second) continue;
    times[range.process][range.name] += window->second.lengthWithin({range.start, range.start + *range.duration});
  }
}

Status addLaunching(Trace& trace, const std::map<ProcessId, RankLateness>& ranks, const Windows& windows,
                    Times& times) {
  std::map<ProcessId, ThreadId> threads;
  auto rows = trace.query("SELECT DISTINCT process_id, thread_id FROM main.collective");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) threads.emplace(rows.value().id<ProcessId>(0), rows.value().id<ThreadId>(1));
  if (Status status = rows.value().status(); !status.ok()) return status;
  HostActivity::Moments interest;
  for (const auto& [process, window] : windows) {
    const auto thread = threads.find(process);
    if (thread != threads.end() && ranks.at(process).phase() == LatePhase::Launch) interest[thread->second] = window;
  }
  if (interest.empty()) return Unit{};
  auto activity = HostActivity::load(trace, interest);
  if (!activity.ok()) return activity.error();
  for (const auto& [process, window] : windows) {
    const auto thread = threads.find(process);
    if (thread == threads.end() || !interest.count(thread->second)) continue;
    for (const Interval& part : window.parts()) {
      activity.value().forEach(thread->second, part, [&](const HostMoment& moment) {
        if (moment.range != StringId()) times[process][moment.range] += moment.time.length();
      });
    }
  }
  return Unit{};
}

}  // namespace

Status findPlaces(Trace& trace, const CollectiveAnalysis& analysis,
                  const std::vector<std::optional<Lateness>>& explained, std::map<ProcessId, RankLateness>& ranks) {
  const Windows windows = windowsOf(analysis, explained, ranks);
  if (windows.empty()) return Unit{};
  auto ranges = RangeForest::load(trace);
  if (!ranges.ok()) return ranges.error();
  Times times;
  if (Status added = addWork(trace, ranges.value(), ranks, windows, times); !added.ok()) return added;
  addLoading(trace, ranges.value(), ranks, windows, times);
  if (Status added = addLaunching(trace, ranks, windows, times); !added.ok()) return added;
  for (const auto& [process, byRange] : times) {
    const auto most = std::ranges::max_element(byRange, {}, [](const auto& entry) { return entry.second; });
    if (most->second.ns() > 0) ranks.at(process).range = most->first;
  }
  return Unit{};
}

}  // namespace plumb
