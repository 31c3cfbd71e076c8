// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
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

// "0", "0 to 3", "0, 2 and 5 to 7"
std::string spelled(const std::set<int64_t>& ranks) {
  std::vector<std::string> parts;
  for (auto rank = ranks.begin(); rank != ranks.end();) {
    const int64_t first = *rank;
    int64_t last = first;
    for (++rank; rank != ranks.end() && *rank == last + 1; ++rank) last = *rank;
    parts.push_back(first == last       ? fmt::format("{}", first)
                    : last == first + 1 ? fmt::format("{}, {}", first, last)
                                        : fmt::format("{} to {}", first, last));
  }
  constexpr size_t kMostParts = 8;
  if (parts.size() > kMostParts) {
    parts.resize(kMostParts);
    parts.emplace_back("…");
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Status checkRank(const Trace& trace, const Filter& filter) {
  if (!filter.rank) return Unit{};
  std::set<int64_t> ranks;
  for (const Process& process : trace.processes()) {
    if (process.rank) ranks.insert(*process.rank);
  }
  if (ranks.contains(*filter.rank)) return Unit{};
  if (ranks.empty()) {
    return Error{
        fmt::format("There is no rank {} in {}: none of its processes has a rank.", *filter.rank, trace.path())};
  }
  return Error{fmt::format("There is no rank {} in {}; it has the rank{} {}.", *filter.rank, trace.path(),
                           ranks.size() == 1 ? "" : "s", spelled(ranks))};
}

// Of the processes of the filter's rank.
bool isAskedFor(const Trace& trace, const Filter& filter, ProcessId id) {
  const Process* process = trace.process(id);
  return !filter.rank || (process && process->rank == filter.rank);
}

std::string whoseOf(const Trace& trace, const Filter& filter) {
  return filter.rank ? fmt::format("Rank {} of {}", *filter.rank, trace.path()) : trace.path();
}

Status checkStep(Trace& trace, const Filter& filter) {
  auto rows = trace.query("SELECT process_id, max(step) FROM steps GROUP BY process_id");
  if (!rows.ok()) return rows.error();
  int64_t last = -1;
  while (rows.value().next()) {
    if (isAskedFor(trace, filter, rows.value().id<ProcessId>(0))) last = std::max(last, rows.value().integer(1));
  }
  if (const Status status = rows.value().status(); !status.ok()) return status;
  if (*filter.step >= 0 && *filter.step <= last) return Unit{};
  auto periods = findPeriodSteps(trace);
  if (!periods.ok()) return periods.error();
  for (const auto& [process, period] : periods.value()) {
    if (isAskedFor(trace, filter, process)) last = std::max(last, static_cast<int64_t>(period.steps.size()) - 1);
  }
  if (*filter.step >= 0 && *filter.step <= last) return Unit{};
  const std::string whose = whoseOf(trace, filter);
  if (last < 0) return Error{fmt::format("{} has no steps, so it has no step {}.", whose, *filter.step)};
  return Error{fmt::format("{} has no step {}; it has the steps 0 to {} (`plumb report steps` lists them).", whose,
                           *filter.step, last)};
}

Status checkRange(Trace& trace, const Filter& filter) {
  auto rows = trace.query(
      "SELECT DISTINCT process_id FROM main.range WHERE name_id IN (SELECT id FROM main.string WHERE text = ?1)");
  if (!rows.ok()) return rows.error();
  rows.value().bind(1, std::string_view(*filter.range));
  while (rows.value().next()) {
    if (isAskedFor(trace, filter, rows.value().id<ProcessId>(0))) return Unit{};
  }
  if (const Status status = rows.value().status(); !status.ok()) return status;
  return Error{fmt::format("{} has no range called '{}' (`plumb report ranges` lists them).", whoseOf(trace, filter),
                           *filter.range)};
}

}  // namespace

Status checkFilter(Trace& trace, const Filter& filter) {
  if (Status known = checkRank(trace, filter); !known.ok()) return known;
  if (filter.step) {
    if (Status known = checkStep(trace, filter); !known.ok()) return known;
  }
  return filter.range ? checkRange(trace, filter) : Status(Unit{});
}

Result<std::vector<ProcessWindows>> findWindows(Trace& trace, const Filter& filter) {
  const Interval limit{filter.from.value_or(kAllTime.start),
                       std::max(filter.to.value_or(kAllTime.end), filter.from.value_or(kAllTime.start))};
  std::vector<ProcessWindows> windows;
  for (const Process& process : trace.processes()) {
    if (!filter.rank || process.rank == filter.rank) {
      windows.push_back({process.id, IntervalSet::unionOf({limit}), IntervalSet::unionOf({limit})});
    }
  }
  if (const Status known = checkRank(trace, filter); !known.ok()) return known.error();
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
