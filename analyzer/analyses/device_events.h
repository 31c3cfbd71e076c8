// SPDX-License-Identifier: Apache-2.0
// All GPU work of a trace device by device, in order of time, for analyses that ask what came after what. Events
// without a usable time are left out.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/analyses/event_rows.h"
#include "analyzer/analyses/gpu_events.h"
#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct DeviceEvent {
  Interval time;
  StreamId stream;
  Correlation correlation;
  StringId name;         // of the kernel; 0 for copies and sets
  int64_t id = 0;        // row of its table
  uint8_t copyKind = 0;  // of a copy: HtoD … as in memory_copy
  WorkKind table = WorkKind::Kernel;
  GpuEventKind kind = GpuEventKind::Compute;
  bool isFromGraph = false;
};

struct DeviceTimeline {
  ProcessId process;
  std::optional<int64_t> rank;
  DeviceId device;
  std::vector<DeviceEvent> events;  // by start, then end, then table and id
  [[nodiscard]] IntervalSet busy() const;
  [[nodiscard]] Interval hull() const;  // first start to last end; empty at 0 without events
};

// Devices that did anything, in order of rank (processes without one last), then device.
[[nodiscard]] Result<std::vector<DeviceTimeline>> loadDeviceTimelines(Trace& trace);
// The same devices with the events for which `keeps` is true.
[[nodiscard]] Result<std::vector<DeviceTimeline>> loadDeviceTimelines(Trace& trace,
                                                                      const std::function<bool(const WorkRow&)>& keeps);

// The name of a piece of work for people: a kernel's short name, "copy HtoD", "set". A kernel's is looked up by row.
[[nodiscard]] std::string_view copyKindName(int64_t copyKind);

}  // namespace plumb
