// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/device_events.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/intervals/sort_runs.h"

namespace plumb {

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

Result<std::vector<DeviceTimeline>> loadDeviceTimelines(Trace& trace) { return loadDeviceTimelines(trace, {}); }

Result<std::vector<DeviceTimeline>> loadDeviceTimelines(Trace& trace,
                                                        const std::function<bool(const WorkRow&)>& keeps) {
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  std::map<std::pair<ProcessId, DeviceId>, DeviceTimeline> devices;
  const size_t expected = keeps ? 0 : rowsPerPart(trace, "main.kernel", trace.devices().size());
  DeviceTimeline* current = nullptr;  // of the last event: neighbours in the file are mostly of one device
  const Status read = forEachWork(trace, [&](const WorkRow& work) {
    if (!work.isTimed) return;
    if (!current || current->process != work.process || current->device != work.device) {
      current = &devices[{work.process, work.device}];
      current->process = work.process;
      current->device = work.device;
      if (current->events.empty()) current->events.reserve(expected);
    }
    if (keeps && !keeps(work)) return;
    DeviceEvent event;
    event.time = work.time;
    event.stream = work.stream;
    event.correlation = work.correlation;
    event.name = work.shortName;
    event.id = work.id;
    event.copyKind = work.copyKind;
    event.table = work.what;
    event.kind = classifier.value().kindOf(work);
    event.isFromGraph = work.isFromGraph;
    current->events.push_back(event);
  });
  if (!read.ok()) return read.error();

  std::vector<DeviceTimeline> result;
  for (auto& [key, timeline] : devices) {
    sortRuns(timeline.events, [](const DeviceEvent& a, const DeviceEvent& b) {
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
