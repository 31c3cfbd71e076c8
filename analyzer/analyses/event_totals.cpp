// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/event_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/event_rows.h"
#include "analyzer/analyses/groups.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/operator_times.h"
#include "analyzer/analyses/range_times.h"
#include "analyzer/analyses/time_clause.h"
#include "analyzer/analyses/work_filter.h"
#include "analyzer/trace/row_scan.h"
#include "analyzer/trace/shared_loads.h"
#include "collector/schema/event_flags.h"

namespace plumb {
namespace {

using schema::kNoUsableTime;
using schema::kWholeGraph;

using Key = GroupKey;

template <class Totals>
void sortLongestFirst(const Trace& trace, std::vector<Totals>& totals) {
  auto order = orderOfProcesses(trace);
  std::vector<std::tuple<size_t, int64_t, size_t>> places;
  for (size_t i = 0; i < totals.size(); ++i) {
    places.emplace_back(order[totals[i].process], -totals[i].durations.statistics().total, i);
  }
  std::ranges::sort(places);
  std::vector<Totals> sorted;
  for (const auto& [process, length, i] : places) sorted.push_back(std::move(totals[i]));
  totals = std::move(sorted);
}

// Kernels by what a column of the table says.
Result<std::vector<EventTotals>> totalByColumns(Trace& trace, const WorkFilter& filter, bool byLaunch,
                                                KernelGrouping grouping) {
  std::vector<EventTotals> result;
  Groups groups;
  const auto totalsOf = [&](const Key& key) -> std::pair<EventTotals&, bool> {
    const auto [group, isNew] = groups.find(key);
    if (isNew) {
      EventTotals& totals = result.emplace_back();
      totals.process = ProcessId(key[0]);
      totals.name = StringId(key[1]);
    }
    return {result[group], isNew};
  };
  const bool isByName = grouping == KernelGrouping::Name || grouping == KernelGrouping::FullName;
  if (trace.sharedLoads() && isByName) {
    const Status read = forEachWork(trace, [&](const WorkRow& work) {
      if (work.what != WorkKind::Kernel || !work.isTimed ||
          !filter.keeps(work.process, work.correlation, work.time.start))
        return;
      const StringId name = grouping == KernelGrouping::Name ? work.shortName : work.name;
      totalsOf({work.process.value(), name.value()}).first.durations.add(work.time.length().ns());
    });
    if (!read.ok()) return read.error();
    return result;
  }
  std::string columns = "process_id, start_ns, duration_ns, flags, correlation, ";
  columns += grouping == KernelGrouping::FullName      ? "name_id"
             : grouping == KernelGrouping::MangledName ? "mangled_name_id"
                                                       : "short_name_id";
  const bool byGrid = grouping == KernelGrouping::Grid;
  if (byGrid) columns += ", grid_x, grid_y, grid_z, block_x, block_y, block_z";
  const std::string kernels =
      "main.kernel NOT INDEXED WHERE " + (byLaunch ? "true" : mayBegin(trace, filter.events(), Side::Gpu));
  const Status read = scanRows(trace.database(), columns, kernels, [&](const RowValues& row) {
    if ((row.integer(3) & kNoUsableTime) || !isUsableTime(row.integer(1), row.integer(2))) return;
    const auto process = row.id<ProcessId>(0);
    if (!filter.keeps(process, row.id<Correlation>(4), row.time(1))) return;
    Key key{process.value(), row.integer(5)};
    for (int i = 0; byGrid && i < 6; ++i) key[static_cast<size_t>(2 + i)] = row.integer(6 + i);
    const auto [totals, isNew] = totalsOf(key);
    if (isNew && byGrid) {
      totals.detail = fmt::format("{}x{}x{} blocks of {}x{}x{}", key[2], key[3], key[4], key[5], key[6], key[7]);
    }
    totals.durations.add(row.integer(2));
  });
  if (!read.ok()) return read.error();
  return result;
}

// Kernels by who launched them.
Result<std::vector<EventTotals>> totalByLauncher(Trace& trace, const WorkFilter& filter, KernelGrouping grouping) {
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto calls = HostCallIndex::load(trace);
  if (!calls.ok()) return calls.error();
  std::function<std::optional<StringId>(const LaunchedWork&)> launcherOf;
  std::optional<OperatorIndex> operators;
  std::optional<RangeForest> ranges;
  if (grouping == KernelGrouping::Operator) {
    auto loaded = OperatorIndex::load(trace);
    if (!loaded.ok()) return loaded.error();
    operators = std::move(loaded).value();
    launcherOf = [&](const LaunchedWork& work) -> std::optional<StringId> {
      const auto found = operators->find(work);
      if (!found) return std::nullopt;
      return operators->calls()[*found].name;
    };
  } else {
    auto loaded = RangeForest::load(trace);
    if (!loaded.ok()) return loaded.error();
    ranges = std::move(loaded).value();
    launcherOf = [&](const LaunchedWork& work) -> std::optional<StringId> {
      const auto node = work.call ? ranges->innermost(work.call->thread, work.call->time) : std::nullopt;
      if (!node) return std::nullopt;
      return ranges->nameOf(*node);
    };
  }
  std::vector<EventTotals> result;
  Groups groups;
  const Status read = forEachLaunchedWork(trace, classifier.value(), calls.value(), [&](const LaunchedWork& work) {
    if (work.what != WorkKind::Kernel || !filter.keeps(work.process, work.correlation, work.time.start)) return;
    const auto launcher = launcherOf(work);
    const auto [group, isNew] =
        groups.find({work.process.value(), work.shortName.value(), launcher ? launcher->value() : INT64_MIN});
    if (isNew) {
      EventTotals& totals = result.emplace_back();
      totals.process = work.process;
      totals.name = work.shortName;
      if (launcher) totals.detail = operators ? operators->nameOf(trace, *launcher) : trace.text(*launcher);
    }
    result[group].durations.add(work.time.length().ns());
  });
  if (!read.ok()) return read.error();
  return result;
}

// What the nodes and the whole records of one graph launch say.
struct GraphLaunch {
  std::optional<Interval> nodes, whole;
  Duration nodeTotal, wholeTotal;
  int64_t counts[3] = {0, 0, 0};  // kernels, copies, sets
};

void extend(std::optional<Interval>& hull, Interval time) {
  hull = hull ? Interval{std::min(hull->start, time.start), std::max(hull->end, time.end)} : time;
}

}  // namespace

Result<std::vector<EventTotals>> groupKernels(Trace& trace, const Filter& filter, KernelGrouping grouping) {
  auto kept = WorkFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  const bool byLauncher = grouping == KernelGrouping::Range || grouping == KernelGrouping::Operator;
  auto totals = byLauncher ? totalByLauncher(trace, kept.value(), grouping)
                           : totalByColumns(trace, kept.value(), filter.range.has_value(), grouping);
  if (totals.ok()) sortLongestFirst(trace, totals.value());
  return totals;
}

Result<std::vector<EventTotals>> totalCalls(Trace& trace, const Filter& filter, CallGrouping grouping) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto rows = trace.query(
      fmt::format("SELECT process_id, start_ns, duration_ns, name_id, layer = 'driver', result <> 0, thread_id FROM "
                  "main.api_call WHERE {}",
                  mayBegin(trace, kept.value(), Side::Host)));
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  std::vector<EventTotals> result;
  Groups groups;
  while (row.next()) {
    if (!isUsableTime(row.integer(1), row.integer(2))) continue;
    const ProcessId process = row.id<ProcessId>(0);
    if (!kept.value().keepsOnHost(process, row.time(1))) continue;
    const int64_t thread = grouping == CallGrouping::Thread ? row.integer(6) : 0;
    const auto [group, isNew] = groups.find({process.value(), row.integer(3), row.integer(4), thread});
    if (isNew) {
      EventTotals& totals = result.emplace_back();
      totals.process = process;
      totals.name = row.id<StringId>(3);
      totals.detail = row.integer(4) ? "driver" : "runtime";
      if (grouping == CallGrouping::Thread) totals.thread = ThreadId(thread);
    }
    result[group].durations.add(row.integer(2));
    result[group].failedCount += row.integer(5);
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  sortLongestFirst(trace, result);
  return result;
}

Result<std::vector<CopyTotals>> totalCopies(Trace& trace, const Filter& filter, CopyGrouping grouping) {
  auto kept = WorkFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  std::vector<CopyTotals> result;
  Groups groups;
  for (const char* sql :
       {"SELECT process_id, device_id, start_ns, duration_ns, flags, bytes, is_async, copy_kind, target_kind,"
        " source_kind, correlation FROM main.memory_copy",
        "SELECT process_id, device_id, start_ns, duration_ns, flags, bytes, is_async, -1, memory_kind, NULL,"
        " correlation FROM main.memory_set"}) {
    auto rows = trace.query(sql);
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      if ((row.integer(4) & kNoUsableTime) || !isUsableTime(row.integer(2), row.integer(3))) continue;
      const ProcessId process = row.id<ProcessId>(0);
      if (!kept.value().keeps(process, row.id<Correlation>(10), row.time(2))) continue;
      const int64_t bytes = row.integer(5);
      const auto size = static_cast<size_t>(
          std::ranges::find_if(kSizeClasses, [&](const SizeClass& c) { return bytes < c.below; }) - kSizeClasses);
      const bool bySize = grouping == CopyGrouping::Size, isWhole = grouping == CopyGrouping::Direction;
      constexpr size_t kUnknown = std::size(kSizeClasses);
      size_t sizeClass = bySize ? std::min(size, kUnknown - 1) : 0;
      if (bySize && bytes == 0) sizeClass = kUnknown;
      const Key key = isWhole ? Key{row.integer(7)}
                              : Key{row.integer(7),
                                    process.value(),
                                    row.integer(1),
                                    row.integer(6),
                                    row.integer(8),
                                    row.isNull(9) ? -1 : row.integer(9),
                                    static_cast<int64_t>(sizeClass)};
      const auto [group, isNew] = groups.find(key);
      if (isNew && isWhole) {
        result.emplace_back().copyKind = row.integer(7);
      } else if (isNew) {
        CopyTotals& totals = result.emplace_back();
        totals.process = process;
        totals.device = row.id<DeviceId>(1);
        totals.isAsync = row.integer(6) != 0;
        totals.copyKind = row.integer(7);
        totals.targetKind = row.integer(8);
        totals.sourceKind = row.optionalInteger(9);
        if (bySize && sizeClass != kUnknown) totals.sizeClass = sizeClass;
      }
      CopyTotals& totals = result[group];
      totals.durations.add(row.integer(3));
      if (bytes == 0) totals.bytes.reset();
      if (totals.bytes) totals.bytes = addSaturated(*totals.bytes, bytes);
      if (bytes != 0) totals.sizes.add(bytes);
      if (row.integer(3) > 0) {
        totals.fastest =
            std::max(totals.fastest, 1e9 * static_cast<double>(bytes) / static_cast<double>(row.integer(3)));
      }
    }
    if (const Status status = row.status(); !status.ok()) return status.error();
  }
  sortLongestFirst(trace, result);
  return result;
}

Result<std::vector<GraphTotals>> totalGraphs(Trace& trace, const Filter& filter) {
  auto kept = WorkFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  constexpr int64_t kNoGraph = -1;
  using GraphKey = std::pair<ProcessId, int64_t>;
  std::map<GraphKey, std::unordered_map<int64_t, GraphLaunch>> graphs;  // then by correlation
  std::map<GraphKey, std::set<int64_t>> nodes;
  constexpr const char* kTables[] = {"kernel", "memory_copy", "memory_set"};
  for (size_t table = 0; table < std::size(kTables); ++table) {
    auto rows = trace.query(
        fmt::format("SELECT process_id, start_ns, duration_ns, flags, graph_id, graph_node_id, correlation FROM main.{}"
                    " WHERE graph_id IS NOT NULL OR flags & 6",
                    kTables[table]));
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      if ((row.integer(3) & kNoUsableTime) || !isUsableTime(row.integer(1), row.integer(2))) continue;
      const ProcessId process = row.id<ProcessId>(0);
      if (!kept.value().keeps(process, row.id<Correlation>(6), row.time(1))) continue;
      const GraphKey key{process, row.isNull(4) ? kNoGraph : row.integer(4)};
      GraphLaunch& launch = graphs[key][row.integer(6)];
      const Interval time = intervalOf(row.integer(1), row.integer(2));
      if (row.integer(3) & kWholeGraph) {
        extend(launch.whole, time);
        launch.wholeTotal += time.length();
      } else {
        extend(launch.nodes, time);
        launch.nodeTotal += time.length();
        ++launch.counts[table];
        if (!row.isNull(5)) nodes[key].insert(row.integer(5));
      }
    }
    if (const Status status = row.status(); !status.ok()) return status.error();
  }
  if (graphs.empty()) return std::vector<GraphTotals>();
  auto calls = HostCallIndex::load(trace);
  if (!calls.ok()) return calls.error();
  std::vector<GraphTotals> result;
  for (const auto& [key, launches] : graphs) {
    GraphTotals totals;
    totals.process = key.first;
    if (key.second != kNoGraph) totals.graph = key.second;
    totals.launchCount = static_cast<int64_t>(launches.size());
    totals.nodeCount = static_cast<int64_t>(nodes[key].size());
    for (const auto& [correlation, launch] : launches) {
      totals.kernelCount += launch.counts[0];
      totals.copyCount += launch.counts[1];
      totals.setCount += launch.counts[2];
      const bool isWhole = !launch.nodes;
      totals.wholeCount += isWhole;
      totals.total += isWhole ? launch.wholeTotal : launch.nodeTotal;
      totals.spans.add((isWhole ? *launch.whole : *launch.nodes).length().ns());
      if (const HostCall* call = calls.value().find(key.first, Correlation(correlation))) {
        totals.api.add(call->time.length().ns());
      }
    }
    result.push_back(std::move(totals));
  }
  auto order = orderOfProcesses(trace);
  std::ranges::stable_sort(result, [&](const GraphTotals& a, const GraphTotals& b) {
    return std::tuple(order[a.process], b.total) < std::tuple(order[b.process], a.total);
  });
  return result;
}

namespace {

void addSample(CounterTotals& totals, TimePoint time, double value) {
  if (totals.count == 0) {
    totals.min = totals.max = totals.first = totals.last = value;
    totals.firstTime = totals.lastTime = totals.maxTime = time;
  }
  ++totals.count;
  totals.sum += value;
  totals.min = std::min(totals.min, value);
  if (value > totals.max) {
    totals.max = value;
    totals.maxTime = time;
  }
  if (time < totals.firstTime) {
    totals.firstTime = time;
    totals.first = value;
  }
  if (time >= totals.lastTime) {
    totals.lastTime = time;
    totals.last = value;
  }
}

}  // namespace

Result<std::vector<CounterTotals>> totalCounters(Trace& trace, const Filter& filter, CounterGrouping grouping) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  std::vector<CounterTotals> result;
  Groups groups;
  // The profiler's ranges are few, and their numbers are found by index.
  for (const char* sql :
       {"SELECT process_id, name_id, start_ns, value, NULL FROM main.counter_sample",
        "SELECT r.process_id, v.name_id, r.start_ns, v.value, r.name_id FROM main.range r CROSS JOIN "
        "main.range_payload v"
        " ON v.range_id = r.id WHERE r.domain_id = (SELECT id FROM main.string WHERE text = 'cuda_profiler_range')"
        " AND typeof(v.value) <> 'text' ORDER BY r.start_ns"}) {
    auto rows = trace.query(sql);
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const ProcessId process = row.id<ProcessId>(0);
      const TimePoint time = row.time(2);
      if (!kept.value().keepsOnHost(process, time)) continue;
      std::optional<StringId> range;
      if (grouping == CounterGrouping::Range && !row.isNull(4)) range = row.id<StringId>(4);
      const auto [group, isNew] =
          groups.find({process.value(), row.integer(1), int64_t{range.has_value()}, range ? row.integer(4) : 0});
      if (isNew) {
        CounterTotals& totals = result.emplace_back();
        totals.process = process;
        totals.name = row.id<StringId>(1);
        totals.range = range;
      }
      addSample(result[group], time, row.real(3));
    }
    if (const Status status = row.status(); !status.ok()) return status.error();
  }
  auto order = orderOfProcesses(trace);
  const auto rangeName = [&](const CounterTotals& counter) {
    return counter.range ? trace.text(*counter.range) : std::string_view();
  };
  std::ranges::stable_sort(result, [&](const CounterTotals& a, const CounterTotals& b) {
    return std::tuple(order[a.process], trace.text(a.name), rangeName(a)) <
           std::tuple(order[b.process], trace.text(b.name), rangeName(b));
  });
  return result;
}

}  // namespace plumb
