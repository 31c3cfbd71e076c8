// SPDX-License-Identifier: Apache-2.0
// The activities of a run and what they depended on, for the critical path (critical_path.h says by which rules).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
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

// How the other ranks' parts of a collective are known.
enum class PeerBasis : uint8_t { None, Records, SomeRecords, Names, SomeNames };

struct ActivityPlace {
  ProcessId process{};
  ThreadId thread{};     // of host activities
  Duration clockOffset;  // taken off the place's times in the graph
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
  ActivityGraph graph;             // by the clock of the first process
  std::vector<ActivityInfo> info;  // by activity
  std::vector<ActivityPlace> places;
  std::unordered_map<ActivityGraph::Activity, PeerBasis> peers;  // of kernels of collectives and their transfers
  // Of each device in the windows: communication without compute, by its own clock.
  std::vector<std::pair<ProcessId, IntervalSet>> exposed;
  std::map<ThreadId, IntervalSet> loading;  // when threads were loading data, by their own clocks
  std::vector<std::string> clocks;          // what is to be said of the ranks' clocks
  [[nodiscard]] PeerBasis peersOf(ActivityGraph::Activity activity) const {
    const auto found = peers.find(activity);
    return found == peers.end() ? PeerBasis::None : found->second;
  }
  [[nodiscard]] const ActivityPlace& placeOf(ActivityGraph::Activity activity) const {
    return places[info[activity].place];
  }
};

[[nodiscard]] Result<RunActivities> loadRunActivities(Trace& trace, const Filter& filter);

}  // namespace plumb
