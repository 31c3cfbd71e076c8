// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/launches.h"
#include "analyzer/analyses/period_steps.h"

namespace plumb {
namespace {

using RangesByProcess = std::map<ProcessId, std::vector<Interval>>;

Result<RangesByProcess> rangesOf(Trace& trace, const Filter& filter, bool isEmptyAllowed) {
  auto rows = filter.step ? trace.query("SELECT process_id, start_ns, duration_ns FROM steps WHERE step = ?1")
                          : trace.query(
                                "SELECT process_id, start_ns, duration_ns FROM main.range WHERE name_id IN"
                                " (SELECT id FROM main.string WHERE text = ?1)");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  if (filter.step) {
    row.bind(1, *filter.step);
  } else {
    row.bind(1, std::string_view(*filter.range));
  }
  RangesByProcess ranges;
  while (row.next()) {
    if (row.isNull(2) || !isUsableTime(row.integer(1), row.integer(2))) continue;
    ranges[row.id<ProcessId>(0)].push_back(intervalOf(row.integer(1), row.integer(2)));
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  if (ranges.empty() && !(filter.step && isEmptyAllowed)) {
    return filter.step
               ? Error{fmt::format("No process has a step {} (or it has no end): `plumb report steps` lists them.",
                                   *filter.step)}
               : Error{fmt::format("No range is called '{}' (or none of them has an end): `plumb report "
                                   "ranges` lists them.",
                                   *filter.range)};
  }
  for (auto& [process, intervals] : ranges) {
    std::ranges::sort(intervals, {}, [](const Interval& i) { return std::pair(i.start, i.end); });
  }
  return ranges;
}

// For each range the hull of the GPU work that was launched in it.
Result<std::map<ProcessId, IntervalSet>> gpuOf(Trace& trace, const RangesByProcess& ranges) {
  auto launches = LaunchIndex::load(trace);
  if (!launches.ok()) return launches.error();
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  std::map<ProcessId, std::vector<std::optional<Interval>>> hulls;
  const Status read = forEachGpuEvent(trace, classifier.value(), [&](const GpuEvent& event) {
    const auto mine = ranges.find(event.process);
    if (mine == ranges.end() || !event.isTimed) return;
    const Launch* launch = launches.value().find(event.process, event.correlation);
    if (!launch) return;
    const std::vector<Interval>& intervals = mine->second;
    std::vector<std::optional<Interval>>& found = hulls[event.process];
    found.resize(intervals.size());
    auto after = std::ranges::upper_bound(intervals, launch->start, {}, &Interval::start);
    // Ranges of one name seldom nest; the few that began last are looked at.
    for (int i = 0; i < 4 && after != intervals.begin(); ++i) {
      --after;
      if (!after->contains(launch->start)) continue;
      std::optional<Interval>& hull = found[static_cast<size_t>(after - intervals.begin())];
      hull = hull ? Interval{std::min(hull->start, event.time.start), std::max(hull->end, event.time.end)} : event.time;
    }
  });
  if (!read.ok()) return read.error();
  std::map<ProcessId, IntervalSet> result;
  for (const auto& [process, found] : hulls) {
    std::vector<Interval> intervals;
    for (const std::optional<Interval>& hull : found) {
      if (hull) intervals.push_back(*hull);
    }
    result[process] = IntervalSet::unionOf(std::move(intervals));
  }
  return result;
}

}  // namespace

Result<std::vector<ProcessWindows>> findWindows(Trace& trace, const Filter& filter) {
  const Interval limit{filter.from.value_or(kAllTime.start),
                       std::max(filter.to.value_or(kAllTime.end), filter.from.value_or(kAllTime.start))};
  std::vector<ProcessWindows> windows;
  for (const Process& process : trace.processes()) {
    if (!filter.rank || process.rank == filter.rank) {
      windows.push_back({process.id, IntervalSet::unionOf({limit}), IntervalSet::unionOf({limit})});
    }
  }
  if (windows.empty() && filter.rank) {
    return Error{
        fmt::format("There is no rank {} in {}: `plumb summary` lists the ranks.", *filter.rank, trace.path())};
  }
  const auto restrict = [&](const Filter& part) -> Status {
    std::map<ProcessId, PeriodStep> repetitions;
    if (part.step) {
      auto periods = findPeriodSteps(trace);
      if (!periods.ok()) return periods.error();
      for (const auto& [process, period] : periods.value()) {
        const auto number = static_cast<size_t>(*part.step);
        if (*part.step >= 0 && number < period.steps.size()) repetitions[process] = period.steps[number];
      }
    }
    auto ranges = rangesOf(trace, part, !repetitions.empty());
    if (!ranges.ok()) return ranges.error();
    auto gpu = gpuOf(trace, ranges.value());
    if (!gpu.ok()) return gpu.error();
    for (ProcessWindows& window : windows) {
      const auto mine = ranges.value().find(window.process);
      window.host =
          intersect(window.host, mine == ranges.value().end() ? IntervalSet() : IntervalSet::unionOf(mine->second));
      window.gpu = intersect(window.gpu, gpu.value()[window.process]);
      const auto repetition = repetitions.find(window.process);
      if (repetition == repetitions.end()) continue;
      window.host = IntervalSet::unionOf({repetition->second.host}).clipped(limit);
      window.gpu = IntervalSet::unionOf({repetition->second.gpu}).clipped(limit);
    }
    return Unit{};
  };
  Filter onlyStep, onlyRange;
  onlyStep.step = filter.step;
  onlyRange.range = filter.range;
  if (filter.step) {
    if (Status done = restrict(onlyStep); !done.ok()) return done.error();
  }
  if (filter.range) {
    if (Status done = restrict(onlyRange); !done.ok()) return done.error();
  }
  return windows;
}

}  // namespace plumb
