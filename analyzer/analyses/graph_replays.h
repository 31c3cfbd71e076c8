// SPDX-License-Identifier: Apache-2.0
// Which operator of a graph's capture stands behind each piece of work that the graph replays. A trace of the capture
// (another file of the same rank, or the same) has the operators and the launches that became the graph's nodes, and no
// work; a trace of the replay has the work and one launch. They are joined where exactly one capture of the rank has as
// many launches as the replay has pieces of work: the first launch with what began first, and so on.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyses/device_events.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct GraphReplay {
  ProcessId process;
  Correlation launch;
  std::vector<const DeviceEvent*> work;  // as the timelines that were given order it
  std::vector<int64_t> operators;        // of the same length, 0 for none; empty: no capture fits
  [[nodiscard]] bool isJoined() const { return !operators.empty(); }
};

struct GraphReplays {
  std::vector<GraphReplay> replays;  // by process and correlation id
  int64_t captureCount = 0;          // captures that the trace holds
};

// Pointers into the timelines.
[[nodiscard]] Result<GraphReplays> findGraphReplays(Trace& trace, const std::vector<DeviceTimeline>& devices);

}  // namespace plumb
