// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stream_activity.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/launched_work.h"

namespace plumb {
namespace {

struct StreamWork {
  ProcessId process;
  DeviceId device;
  std::vector<Interval> intervals;
};

Result<std::map<StreamId, StreamWork>> loadStreams(Trace& trace) {
  std::map<StreamId, StreamWork> streams;
  for (const char* sql :
       {"SELECT process_id, device_id, stream_id, start_ns, duration_ns FROM main.kernel WHERE flags & 1 = 0",
        "SELECT process_id, device_id, stream_id, start_ns, duration_ns FROM main.memory_copy WHERE flags & 1 = 0",
        "SELECT process_id, device_id, stream_id, start_ns, duration_ns FROM main.memory_set WHERE flags & 1 = 0"}) {
    auto rows = trace.query(sql);
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    StreamWork* stream = nullptr;
    StreamId id;
    while (row.next()) {
      if (!isUsableTime(row.integer(3), row.integer(4))) continue;
      if (!stream || id != row.id<StreamId>(2)) {
        id = row.id<StreamId>(2);
        stream = &streams[id];
        stream->process = row.id<ProcessId>(0);
        stream->device = row.id<DeviceId>(1);
      }
      stream->intervals.push_back(intervalOf(row.integer(3), row.integer(4)));
    }
    if (const Status status = row.status(); !status.ok()) return status.error();
  }
  return streams;
}

IntervalSet limitedTo(const IntervalSet& windows, Interval hull, const Filter& filter) {
  return windows.clipped(limitOf(filter, hull));
}

// How long each of some disjoint sets' members coincide with 1, 2, 3 or more of all.
struct Concurrency {
  IntervalSet one, two, more;
};
Concurrency concurrencyOf(const std::vector<IntervalSet>& sets) {
  std::vector<Interval> all;
  for (const IntervalSet& set : sets) all.insert(all.end(), set.parts().begin(), set.parts().end());
  const std::vector<DepthStep> steps = depthOverTime(all);
  std::array<std::vector<Interval>, 3> by;
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].depth > 0) {
      by[static_cast<size_t>(std::min(steps[i].depth, 3) - 1)].push_back({steps[i].time, steps[i + 1].time});
    }
  }
  return {IntervalSet::unionOf(std::move(by[0])), IntervalSet::unionOf(std::move(by[1])),
          IntervalSet::unionOf(std::move(by[2]))};
}

// The streams of one device.
std::vector<StreamActivity> measureDevice(std::vector<std::pair<StreamId, StreamWork>> streams,
                                          const IntervalSet& windows, const Filter& filter) {
  Interval hull = streams.front().second.intervals.front();
  for (const auto& [id, work] : streams) {
    for (const Interval& time : work.intervals) {
      hull = {std::min(hull.start, time.start), std::max(hull.end, time.end)};
    }
  }
  const IntervalSet inside = limitedTo(windows, hull, filter);
  std::vector<StreamActivity> result(1 + streams.size());
  std::vector<IntervalSet> busy;
  StreamActivity& device = result.front();
  device.process = streams.front().second.process;
  device.device = streams.front().second.device;
  for (size_t i = 0; i < streams.size(); ++i) {
    StreamActivity& stream = result[i + 1];
    stream.process = device.process;
    stream.device = device.device;
    stream.stream = streams[i].first;
    for (const Interval& time : streams[i].second.intervals) {
      if (contains(windows, time.start)) ++stream.eventCount;
      stream.total += inside.lengthWithin(time);
    }
    busy.push_back(intersect(IntervalSet::unionOf(std::move(streams[i].second.intervals)), inside));
    stream.busy = busy.back().length();
    stream.streamCount = 1;
    stream.span = inside.length();
    device.eventCount += stream.eventCount;
    device.total += stream.total;
    if (stream.busy > Duration()) ++device.streamCount;
  }
  const Concurrency concurrency = concurrencyOf(busy);
  const std::array<const IntervalSet*, 3> byCount = {&concurrency.one, &concurrency.two, &concurrency.more};
  device.span = inside.length();
  for (size_t n = 0; n < byCount.size(); ++n) {
    device.concurrent[n] = byCount[n]->length();
    device.busy += device.concurrent[n];
    // By the parts of each stream: an intersection would walk through the whole device for each of many streams.
    for (size_t i = 0; i < busy.size(); ++i) {
      for (const Interval& part : busy[i].parts()) result[i + 1].concurrent[n] += byCount[n]->lengthWithin(part);
    }
  }
  return result;
}

}  // namespace

Result<std::vector<StreamActivity>> measureStreams(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto streams = loadStreams(trace);
  if (!streams.ok()) return streams.error();
  std::map<std::pair<ProcessId, DeviceId>, std::vector<std::pair<StreamId, StreamWork>>> devices;
  for (auto& [id, work] : streams.value()) {
    if (!work.intervals.empty()) devices[{work.process, work.device}].emplace_back(id, std::move(work));
  }
  std::vector<StreamActivity> result;
  for (const ProcessWindows& process : windows.value()) {  // in order of rank
    for (auto& [key, work] : devices) {
      if (key.first != process.process) continue;
      for (StreamActivity& activity : measureDevice(std::move(work), process.gpu, filter)) {
        result.push_back(activity);
      }
    }
  }
  return result;
}

std::array<Duration, kKindCombinations> exclusiveTimes(const GpuActivity& activity, const IntervalSet& windows) {
  const std::array<IntervalSet, 3> sets = {intersect(activity.compute, windows),
                                           intersect(activity.communication, windows),
                                           intersect(activity.memory, windows)};
  std::array<Duration, kKindCombinations> times;
  Duration busy;
  for (size_t combination = 1; combination < kKindCombinations; ++combination) {
    std::optional<IntervalSet> common;
    for (size_t kind = 0; kind < sets.size(); ++kind) {
      if (combination >> kind & 1) common = common ? intersect(*common, sets[kind]) : sets[kind];
    }
    for (size_t kind = 0; kind < sets.size(); ++kind) {
      if (!(combination >> kind & 1)) common = subtract(*common, sets[kind]);
    }
    times[combination] = common->length();
    busy += times[combination];
  }
  times[0] = windows.length() - busy;
  return times;
}

Result<std::vector<KindTimes>> measureKinds(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto activities = loadGpuActivity(trace, touching(windows.value(), filter));
  if (!activities.ok()) return activities.error();
  std::vector<KindTimes> result;
  for (const GpuActivity& activity : activities.value()) {
    const auto mine = std::ranges::find(windows.value(), activity.process, &ProcessWindows::process);
    if (mine == windows.value().end()) continue;
    const IntervalSet inside = limitedTo(mine->gpu, activity.hull, filter);
    result.push_back({activity.process, activity.rank, activity.device, activity.communicationSource, inside.length(),
                      exclusiveTimes(activity, inside)});
  }
  return result;
}

}  // namespace plumb
