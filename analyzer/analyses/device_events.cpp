// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/device_events.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

constexpr int64_t kNoUsableTime = 1, kFromGraph = 2;  // event flags

struct Source {
  const char* sql;
  WorkTable table;
};
// The short name, which is what people read; whether it communicates is told by the full one.
constexpr Source kSources[] = {
    {"SELECT process_id, device_id, stream_id, correlation, start_ns, duration_ns, flags, id, short_name_id, name_id"
     " FROM main.kernel",
     WorkTable::Kernel},
    {"SELECT process_id, device_id, stream_id, correlation, start_ns, duration_ns, flags, id, copy_kind, 0"
     " FROM main.memory_copy",
     WorkTable::Copy},
    {"SELECT process_id, device_id, stream_id, correlation, start_ns, duration_ns, flags, id, 0, 0"
     " FROM main.memory_set",
     WorkTable::Set}};

}  // namespace

IntervalSet DeviceTimeline::busy() const {
  std::vector<Interval> intervals;
  intervals.reserve(events.size());
  for (const DeviceEvent& event : events) intervals.push_back(event.time);
  return IntervalSet::unionOf(std::move(intervals));
}

Interval DeviceTimeline::hull() const {
  if (events.empty()) return {};
  Interval hull = events.front().time;
  for (const DeviceEvent& event : events) hull.end = std::max(hull.end, event.time.end);
  return hull;
}

std::string_view copyKindName(int64_t copyKind) {
  static constexpr std::string_view kNames[] = {"copy unknown", "copy HtoD", "copy DtoH", "copy HtoA",
                                                "copy AtoH",    "copy AtoA", "copy AtoD", "copy DtoA",
                                                "copy DtoD",    "copy HtoH", "copy PtoP"};
  return copyKind > 0 && copyKind < static_cast<int64_t>(std::size(kNames)) ? kNames[copyKind] : kNames[0];
}

Result<std::vector<DeviceTimeline>> loadDeviceTimelines(Trace& trace) {
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  std::map<std::pair<ProcessId, DeviceId>, DeviceTimeline> devices;
  DeviceTimeline* current = nullptr;  // of the last event: neighbours in the file are mostly of one device
  for (const Source& source : kSources) {
    auto rows = trace.query(source.sql);
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const int64_t start = row.integer(4), duration = row.integer(5), flags = row.integer(6);
      if ((flags & kNoUsableTime) || !isUsableTime(start, duration)) continue;
      const auto process = row.id<ProcessId>(0);
      const auto device = row.id<DeviceId>(1);
      if (!current || current->process != process || current->device != device) {
        current = &devices[{process, device}];
        current->process = process;
        current->device = device;
      }
      DeviceEvent event;
      event.time = intervalOf(start, duration);
      event.stream = row.id<StreamId>(2);
      event.correlation = row.id<Correlation>(3);
      event.id = row.integer(7);
      event.table = source.table;
      event.isFromGraph = flags & kFromGraph;
      const bool isKernel = source.table == WorkTable::Kernel;
      if (isKernel) event.name = row.id<StringId>(8);
      if (source.table == WorkTable::Copy) event.copyKind = static_cast<uint8_t>(row.integer(8));
      const bool communicates =
          isKernel ? classifier.value().isCommunication(process, event.correlation, row.id<StringId>(9))
                   : classifier.value().isCommunication(process, event.correlation);
      event.kind = communicates ? GpuEventKind::Communication : isKernel ? GpuEventKind::Compute : GpuEventKind::Memory;
      current->events.push_back(event);
    }
    if (const Status status = row.status(); !status.ok()) return status.error();
  }

  std::vector<DeviceTimeline> result;
  for (auto& [key, timeline] : devices) {
    std::sort(timeline.events.begin(), timeline.events.end(), [](const DeviceEvent& a, const DeviceEvent& b) {
      return std::tie(a.time.start, a.time.end, a.table, a.id) < std::tie(b.time.start, b.time.end, b.table, b.id);
    });
    if (const Process* process = trace.process(timeline.process)) timeline.rank = process->rank;
    result.push_back(std::move(timeline));
  }
  std::stable_sort(result.begin(), result.end(), [](const DeviceTimeline& a, const DeviceTimeline& b) {
    return std::make_tuple(!a.rank, a.rank.value_or(0), a.process, a.device) <
           std::make_tuple(!b.rank, b.rank.value_or(0), b.process, b.device);
  });
  return result;
}

}  // namespace plumb
