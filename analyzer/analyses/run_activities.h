// SPDX-License-Identifier: Apache-2.0
// The activities of a run and what they depended on, for the critical path (critical_path.h says by which rules).
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/analyses/activity_graph.h"
#include "analyzer/analyses/device_events.h"
#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class ActivityKind : uint8_t {
  Call,     // of CUDA
  Code,     // between two calls of a thread
  Return,   // of a blocking call, when what it waits for is done
  Work,     // a kernel, copy or set
  Arrival,  // a collective's kernel has begun
  Transfer  // from the last rank's arrival to the end of this rank's kernel
};

struct ActivityPlace {
  ProcessId process{};
  ThreadId thread{};  // of host activities
};

struct ActivityInfo {
  ActivityKind kind = ActivityKind::Code;
  GpuEventKind work = GpuEventKind::Compute;  // of Work
  uint8_t copyKind = 0;
  WorkKind table = WorkKind::Kernel;
  uint32_t place = 0;  // index into RunActivities::places
  StringId name{};     // of calls and kernels
};

struct RunActivities {
  ActivityGraph graph;
  std::vector<ActivityInfo> info;  // by activity
  std::vector<ActivityPlace> places;
  // Of each device in the windows: communication without compute.
  std::vector<std::pair<ProcessId, IntervalSet>> exposed;
  [[nodiscard]] const ActivityPlace& placeOf(ActivityGraph::Activity activity) const {
    return places[info[activity].place];
  }
};

[[nodiscard]] Result<RunActivities> loadRunActivities(Trace& trace, const Filter& filter);

}  // namespace plumb
