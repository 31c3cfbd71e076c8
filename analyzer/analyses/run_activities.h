// SPDX-License-Identifier: Apache-2.0
// The activities of a run and what they depended on, for the critical path (critical_path.h says by which rules).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/analyses/activity_graph.h"
#include "analyzer/analyses/device_events.h"
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

struct ActivityInfo {
  ActivityKind kind = ActivityKind::Code;
  GpuEventKind work = GpuEventKind::Compute;  // of Work
  uint8_t copyKind = 0;
  WorkKind table = WorkKind::Kernel;
  ProcessId process{};
  ThreadId thread{};  // of host activities
  StringId name{};    // of calls and kernels
};

struct RunActivities {
  ActivityGraph graph;
  std::vector<ActivityInfo> info;  // by activity
};

[[nodiscard]] Result<RunActivities> loadRunActivities(Trace& trace, const Filter& filter);

}  // namespace plumb
