// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/event_rows.h"
#include "analyzer/analyses/period_steps.h"
#include "analyzer/analyses/torch_ranges.h"
#include "analyzer/analyses/work_by_launch.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/sort_runs.h"
#include "analyzer/trace/row_scan.h"
#include "collector/schema/event_flags.h"

namespace plumb {
namespace {

// Ranges of one process in order of start, the outer one of two that start together first.
class Ranges {
 public:
  explicit Ranges(std::vector<Interval> intervals) : m_intervals(std::move(intervals)) {
    std::ranges::sort(m_intervals, [](const Interval& a, const Interval& b) {
      return a.start != b.start ? a.start < b.start : b.end < a.end;
    });
    for (size_t i = 0; i < m_intervals.size(); ++i) {
      size_t outlasting = i;  // one more than an index; 0: none
      while (outlasting > 0 && m_intervals[outlasting - 1].end <= m_intervals[i].end) {
        outlasting = m_outlasting[outlasting - 1];
      }
      m_outlasting.push_back(outlasting);
    }
  }
  [[nodiscard]] const std::vector<Interval>& intervals() const { return m_intervals; }

  // Calls visit(index) for every range that holds the moment.
  template <class Visit>
  void forEachAround(TimePoint time, Visit visit) const {
    const auto after = std::ranges::upper_bound(m_intervals, time, {}, &Interval::start);
    for (auto next = static_cast<size_t>(after - m_intervals.begin()); next > 0;) {
      const size_t i = next - 1;
      if (m_intervals[i].contains(time)) {
        visit(i);
        next = i;
      } else {
        next = m_outlasting[i];  // those between end no later than this one
      }
    }
  }

 private:
  std::vector<Interval> m_intervals;
  std::vector<size_t> m_outlasting;  // the last one before that ends later, one more than its index; 0: none
};

using RangesByProcess = std::map<ProcessId, Ranges>;

// A query of the ranges that the filter names.
Result<Statement> queryRanges(Trace& trace, const Filter& filter, const char* columns) {
  const auto names = rangeNamesCalled(trace, *filter.range);
  if (!names.ok()) return names.error();
  auto rows =
      trace.query(fmt::format("SELECT {} FROM main.range WHERE name_id IN (SELECT value FROM json_each(?1))", columns));
  if (!rows.ok()) return rows.error();
  std::string list;
  for (const StringId name : names.value()) list += fmt::format("{}{}", list.empty() ? "" : ",", name.value());
  rows.value().bind(1, std::string_view(fmt::format("[{}]", list)));
  return rows;
}

Result<RangesByProcess> rangesOf(Trace& trace, const Filter& filter, bool isEmptyAllowed) {
  auto rows = filter.step ? trace.query("SELECT process_id, start_ns, duration_ns FROM steps WHERE step = ?1")
                          : queryRanges(trace, filter, "process_id, start_ns, duration_ns");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  if (filter.step) row.bind(1, *filter.step);
  std::map<ProcessId, std::vector<Interval>> found;
  while (row.next()) {
    if (row.isNull(2) || !isUsableTime(row.integer(1), row.integer(2))) continue;
    found[row.id<ProcessId>(0)].push_back(intervalOf(row.integer(1), row.integer(2)));
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  if (found.empty() && !(filter.step && isEmptyAllowed)) {
    return filter.step
               ? Error{fmt::format("No process has a step {} (or it has no end): `plumb report steps` lists them.",
                                   *filter.step)}
               : Error{fmt::format("No range is called '{}' (or none of them has an end): `plumb report "
                                   "ranges` lists them.",
                                   *filter.range)};
  }
  RangesByProcess ranges;
  for (auto& [process, intervals] : found) ranges.emplace(process, Ranges(std::move(intervals)));
  return ranges;
}

// When the work of each correlation id was launched: the start of its call, of nested ones the outermost.
class LaunchStarts {
 public:
  static Result<LaunchStarts> load(Trace& trace) {
    LaunchStarts starts;
    const size_t expected = rowsPerPart(trace, "main.api_call", trace.processes().size());
    std::vector<Start>* mine = nullptr;
    ProcessId process;
    const auto add = [&](ProcessId of, Correlation correlation, TimePoint start) {
      if (!mine || process != of) {
        process = of;
        mine = &starts.m_starts[of];
        if (mine->empty()) mine->reserve(expected);
      }
      mine->push_back({correlation, start});
    };
    const Status read =
        trace.sharedLoads()
            ? forEachCall(trace, [&](const CallRow& call) { add(call.process, call.correlation, call.start); })
            : scanRows(trace.database(), "process_id, correlation, start_ns", "main.api_call",
                       [&](const RowValues& row) { add(row.id<ProcessId>(0), row.id<Correlation>(1), row.time(2)); });
    if (!read.ok()) return read.error();
    for (auto& [of, list] : starts.m_starts) {
      sortRuns(list, [](const Start& a, const Start& b) {
        return std::pair(a.correlation, a.start) < std::pair(b.correlation, b.start);
      });
    }
    return starts;
  }

  // None: the call is not in the trace. Cheap when ids are asked for in order.
  [[nodiscard]] std::optional<TimePoint> find(ProcessId process, Correlation correlation) {
    const auto found = m_starts.find(process);
    if (found == m_starts.end()) return std::nullopt;
    const std::vector<Start>& list = found->second;
    m_hint = partitionPointNear(list, std::min(m_hint, list.size()),
                                [&](const Start& one) { return one.correlation < correlation; });
    if (m_hint == list.size() || list[m_hint].correlation != correlation) return std::nullopt;
    return list[m_hint].start;
  }

 private:
  struct Start {
    Correlation correlation;
    TimePoint start;
  };
  std::unordered_map<ProcessId, std::vector<Start>> m_starts;
  size_t m_hint = 0;
};

// Calls take(process, correlation, time) for all timed GPU work.
template <class Take>
Status forEachTimedWork(Trace& trace, Take take) {
  if (trace.sharedLoads()) {
    return forEachWork(trace, [&](const WorkRow& work) {
      if (work.isTimed) take(work.process, work.correlation, work.time);
    });
  }
  for (const char* table : {"main.kernel", "main.memory_copy", "main.memory_set"}) {
    const Status read = scanRows(
        trace.database(), "process_id, correlation, start_ns, duration_ns, flags", table, [&](const RowValues& row) {
          if ((row.integer(4) & schema::kNoUsableTime) || !isUsableTime(row.integer(2), row.integer(3))) return;
          take(row.id<ProcessId>(0), row.id<Correlation>(1), intervalOf(row.integer(2), row.integer(3)));
        });
    if (!read.ok()) return read;
  }
  return Unit{};
}

// Calls add(process, launch, time) for all timed GPU work that was launched inside one of the ranges, and maybe for
// other.
template <class Add>
Status forEachLaunchedIn(Trace& trace, const std::vector<RangesByProcess>& lists, Add add) {
  if (!trace.sharedLoads()) {  // those are read by then, or are going to be
    std::map<ProcessId, Interval> hulls;
    for (const RangesByProcess& list : lists) {
      for (const auto& [process, ranges] : list) {
        for (const Interval& range : ranges.intervals()) {
          Interval& hull = hulls.try_emplace(process, range).first->second;
          hull = {std::min(hull.start, range.start), std::max(hull.end, range.end)};
        }
      }
    }
    auto few = findWorkLaunchedIn(trace, hulls);
    if (!few.ok()) return few.error();
    if (few.value()) {
      for (const LaunchedWorkTime& work : *few.value()) add(work.process, work.launch, work.time);
      return Unit{};
    }
  }
  auto launches = LaunchStarts::load(trace);
  if (!launches.ok()) return launches.error();
  return forEachTimedWork(trace, [&](ProcessId process, Correlation correlation, Interval time) {
    if (const auto launch = launches.value().find(process, correlation)) add(process, *launch, time);
  });
}

// For each list of ranges, and each range of it, the hull of the GPU work that was launched in it.
Result<std::vector<std::map<ProcessId, IntervalSet>>> gpuOf(Trace& trace, const std::vector<RangesByProcess>& lists) {
  std::vector<std::map<ProcessId, std::vector<std::optional<Interval>>>> hulls(lists.size());
  const auto add = [&](ProcessId process, TimePoint launch, Interval time) {
    for (size_t list = 0; list < lists.size(); ++list) {
      const auto mine = lists[list].find(process);
      if (mine == lists[list].end()) continue;
      mine->second.forEachAround(launch, [&](size_t range) {
        std::vector<std::optional<Interval>>& found = hulls[list][process];
        found.resize(mine->second.intervals().size());
        std::optional<Interval>& hull = found[range];
        hull = !hull ? time : Interval{std::min(hull->start, time.start), std::max(hull->end, time.end)};
      });
    }
  };
  if (const Status added = forEachLaunchedIn(trace, lists, add); !added.ok()) return added.error();
  std::vector<std::map<ProcessId, IntervalSet>> result(lists.size());
  for (size_t list = 0; list < lists.size(); ++list) {
    for (const auto& [process, found] : hulls[list]) {
      std::vector<Interval> intervals;
      for (const std::optional<Interval>& hull : found) {
        if (hull) intervals.push_back(*hull);
      }
      result[list][process] = IntervalSet::unionOf(std::move(intervals));
    }
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

// What the program itself calls its steps, when it numbers them otherwise: "; they are what the program calls
// ProfilerStep#10 to ProfilerStep#12". "" when it does not.
Result<std::string> ownNamesOfSteps(Trace& trace, const Filter& filter) {
  auto rows = trace.query("SELECT process_id, step, name FROM steps ORDER BY process_id, step");
  if (!rows.ok()) return rows.error();
  std::string first, last;
  std::optional<ProcessId> process;
  bool isNumberedOtherwise = false;
  while (rows.value().next()) {
    const auto of = rows.value().id<ProcessId>(0);
    if (!isAskedFor(trace, filter, of)) continue;
    if (process && *process != of) break;  // ranks call them alike
    process = of;
    last = rows.value().text(2);
    if (first.empty()) first = last;
    const size_t digits = last.find_last_not_of("0123456789") + 1;
    isNumberedOtherwise |= digits < last.size() && last.substr(digits) != std::to_string(rows.value().integer(1));
  }
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  if (!isNumberedOtherwise) return std::string();
  return first == last ? fmt::format("; step 0 is what the program calls {}", first)
                       : fmt::format("; they are what the program calls {} to {}", first, last);
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
  const auto names = ownNamesOfSteps(trace, filter);
  if (!names.ok()) return names.error();
  return Error{fmt::format("{} has no step {}; it has the step{}{} (`plumb report steps` lists them).", whose,
                           *filter.step, last == 0 ? " 0" : fmt::format("s 0 to {}", last), names.value())};
}

Status checkRange(Trace& trace, const Filter& filter) {
  auto rows = queryRanges(trace, filter, "DISTINCT process_id");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    if (isAskedFor(trace, filter, rows.value().id<ProcessId>(0))) return Unit{};
  }
  if (const Status status = rows.value().status(); !status.ok()) return status;
  return Error{fmt::format("{} has no range called '{}' (`plumb report ranges` lists them).", whoseOf(trace, filter),
                           *filter.range)};
}

// The repetition of that number in processes without declared steps.
Result<std::map<ProcessId, PeriodStep>> repetitionsOf(Trace& trace, int64_t number) {
  std::map<ProcessId, PeriodStep> repetitions;
  auto periods = findPeriodSteps(trace);
  if (!periods.ok()) return periods.error();
  for (const auto& [process, period] : periods.value()) {
    const auto index = static_cast<size_t>(number);
    if (number >= 0 && index < period.steps.size()) repetitions[process] = period.steps[index];
  }
  return repetitions;
}

}  // namespace

Status checkFilter(Trace& trace, const Filter& filter) {
  if (Status known = checkRank(trace, filter); !known.ok()) return known;
  if (filter.step) {
    if (Status known = checkStep(trace, filter); !known.ok()) return known;
  }
  return filter.range ? checkRange(trace, filter) : Status(Unit{});
}

Interval limitOf(const Filter& filter, Interval work) {
  const bool hasEnds = filter.step || filter.range;
  return {hasEnds || filter.from ? kAllTime.start : work.start, hasEnds || filter.to ? kAllTime.end : work.end};
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
  std::vector<RangesByProcess> lists;
  std::map<ProcessId, PeriodStep> repetitions;
  if (filter.step) {
    auto found = repetitionsOf(trace, *filter.step);
    if (!found.ok()) return found.error();
    repetitions = std::move(found).value();
    Filter step;
    step.step = filter.step;
    auto ranges = rangesOf(trace, step, !repetitions.empty());
    if (!ranges.ok()) return ranges.error();
    lists.push_back(std::move(ranges).value());
  }
  if (filter.range) {
    Filter range;
    range.range = filter.range;
    auto ranges = rangesOf(trace, range, false);
    if (!ranges.ok()) return ranges.error();
    lists.push_back(std::move(ranges).value());
  }
  if (lists.empty()) return windows;
  auto gpu = gpuOf(trace, lists);
  if (!gpu.ok()) return gpu.error();
  for (ProcessWindows& window : windows) {
    const auto repetition = repetitions.find(window.process);
    for (size_t list = 0; list < lists.size(); ++list) {
      const bool isRepeated = list == 0 && repetition != repetitions.end();
      const auto mine = lists[list].find(window.process);
      const IntervalSet host = isRepeated                  ? IntervalSet::unionOf({repetition->second.host})
                               : mine == lists[list].end() ? IntervalSet()
                                                           : IntervalSet::unionOf(mine->second.intervals());
      const IntervalSet device =
          isRepeated ? IntervalSet::unionOf({repetition->second.gpu}) : gpu.value()[list][window.process];
      window.host = intersect(window.host, host);
      window.gpu = intersect(window.gpu, device);
    }
  }
  return windows;
}

}  // namespace plumb
