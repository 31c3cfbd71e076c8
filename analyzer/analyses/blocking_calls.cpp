// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/blocking_calls.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/range_times.h"
#include "analyzer/analyses/torch_ranges.h"

namespace plumb {
namespace {

struct Work {
  ProcessId process;
  BlockingKind kind;
  Correlation correlation;
  int64_t row, bytes;
  Interval time;
};

Status readWork(Trace& trace, const char* sql, BlockingKind kind, const EventFilter& filter, std::vector<Work>& found) {
  auto rows = trace.query(sql);
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    if (!isUsableTime(row.integer(4), row.integer(5))) continue;
    const Work work{row.id<ProcessId>(1), kind,           row.id<Correlation>(2),
                    row.integer(0),       row.integer(3), intervalOf(row.integer(4), row.integer(5))};
    if (filter.keepsOnGpu(work.process, work.time.start)) found.push_back(work);
  }
  return row.status();
}

// What the devices of each process did, all together.
struct ProcessActivity {
  IntervalSet work, busy;  // work: computing or communicating; busy: anything
};

Result<std::unordered_map<ProcessId, ProcessActivity>> loadActivity(Trace& trace) {
  auto devices = loadGpuActivity(trace);
  if (!devices.ok()) return devices.error();
  std::unordered_map<ProcessId, ProcessActivity> result;
  for (const GpuActivity& device : devices.value()) {
    ProcessActivity& all = result[device.process];
    all.work = unite(all.work, unite(device.compute, device.communication));
    all.busy = unite(all.busy, unite(all.work, device.memory));
  }
  return result;
}

}  // namespace

std::string_view nameOf(BlockingKind kind) {
  static constexpr std::string_view kNames[] = {"pageable copy", "synchronous copy", "synchronous set"};
  return kNames[static_cast<size_t>(kind)];
}

Result<std::vector<BlockingCalls>> findBlockingCalls(Trace& trace, const Filter& filter) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  // Flag 1: no usable time. Memory kind 1: pageable. Copy kind 8: within a device.
  static constexpr std::pair<BlockingKind, const char*> kSources[] = {
      {BlockingKind::PageableCopy,
       "SELECT id, process_id, correlation, bytes, start_ns, duration_ns FROM main.memory_copy"
       " WHERE is_async = 1 AND 1 IN (source_kind, target_kind) AND flags & 1 = 0"},
      {BlockingKind::SynchronousCopy,
       "SELECT id, process_id, correlation, bytes, start_ns, duration_ns FROM main.memory_copy"
       " WHERE is_async = 0 AND copy_kind <> 8 AND flags & 1 = 0"},
      {BlockingKind::SynchronousSet,
       "SELECT id, process_id, correlation, bytes, start_ns, duration_ns FROM main.memory_set"
       " WHERE is_async = 0 AND flags & 1 = 0"}};
  std::vector<Work> works;
  for (const auto& [kind, sql] : kSources) {
    if (const Status read = readWork(trace, sql, kind, kept.value(), works); !read.ok()) return read.error();
  }
  std::vector<BlockingCalls> result;
  if (works.empty()) return result;
  auto calls = HostCallIndex::load(trace);
  if (!calls.ok()) return calls.error();
  auto ranges = RangeForest::load(trace);
  if (!ranges.ok()) return ranges.error();

  auto activity = loadActivity(trace);
  if (!activity.ok()) return activity.error();

  PlainRangeNames places(trace, PlainRangeNames::Of::Places);
  std::map<std::tuple<ProcessId, BlockingKind, std::optional<StringId>>, size_t> groups;
  for (const Work& work : works) {
    const HostCall* call =
        work.correlation == Correlation() ? nullptr : calls.value().find(work.process, work.correlation);
    std::optional<StringId> range;
    if (call) {
      if (const auto node = ranges.value().innermost(call->thread, call->time))
        range = places.of(ranges.value().nameOf(*node));
    }
    const auto [at, isNew] = groups.emplace(std::tuple(work.process, work.kind, range), result.size());
    if (isNew) result.push_back({work.process, work.kind, range, 0, 0, {}, {}, {}, work.time, work.row, work.row});
    BlockingCalls& group = result[at->second];
    ++group.count;
    if (work.bytes == 0) group.bytes.reset();
    if (group.bytes) *group.bytes += work.bytes;
    const Interval blocked = call ? call->time : work.time;
    const ProcessActivity& devices = activity.value()[work.process];
    const Duration busy = devices.busy.lengthWithin(blocked);
    group.blocked += blocked.length();
    group.idle += blocked.length() - busy;
    const Interval own{std::max(work.time.start, blocked.start), std::min(work.time.end, blocked.end)};
    if (own.start < own.end) group.copying += own.length() - devices.work.lengthWithin(own);
    group.time = {std::min(group.time.start, work.time.start), std::max(group.time.end, work.time.end)};
    group.firstRow = std::min(group.firstRow, work.row);
    group.lastRow = std::max(group.lastRow, work.row);
  }
  auto order = orderOfProcesses(trace);
  std::ranges::stable_sort(result, [&](const BlockingCalls& a, const BlockingCalls& b) {
    return std::tuple(order[a.process], a.kind, b.blocked) < std::tuple(order[b.process], b.kind, a.blocked);
  });
  return result;
}

}  // namespace plumb
