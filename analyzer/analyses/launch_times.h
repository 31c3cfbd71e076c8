// SPDX-License-Identifier: Apache-2.0
// From the launch call to the kernel: how long the call took, how long the kernel waited for its start, and how full
// the stream's queue was.
//   api    duration of the launch call
//   queue  kernel start - call end, only where positive: a kernel that starts before its call returns did not queue
//   delay  kernel start - call start; none where the kernel seems to start first (clocks that disagree)
//   total  call start to kernel end
//   depth  of a stream: launches that were called and whose work has not begun on the device, the new one included. A
//          launch of many pieces (a graph) is one, on each stream that it has work on, until the first of them begins
//   blocked  part of the call while the depth was at kQueueCapacity or more: the call waits for room
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/analyses/statistics.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// Launches that a CUDA stream holds before the next call blocks.
inline constexpr int kQueueCapacity = 1024;

struct LaunchTotals {
  ProcessId process;
  StringId kernel;                 // short name; by thread: none
  StringId call;                   // name of the API function; by thread: none
  std::optional<ThreadId> thread;  // by thread
  Sample api, queue, delay, duration, total;
  int64_t depthTotal = 0, depthMax = 0;  // at the launches
  Duration blocked;
  int64_t deepCount = 0;  // launches at kQueueCapacity or more
};

enum class LaunchGrouping : uint8_t { Kernel, Thread };

struct LaunchTimes {
  std::vector<LaunchTotals> groups;  // in order of rank, the longest total first
  int64_t withoutCall = 0;           // kernels whose launch is not in the trace
};

// Of the kernels that begin in the filter's GPU windows.
[[nodiscard]] Result<LaunchTimes> totalLaunches(Trace& trace, const Filter& filter, LaunchGrouping grouping);

// The queue of one stream over the whole recording.
struct StreamQueue {
  ProcessId process;
  StreamId stream;
  int64_t launchCount = 0;
  int64_t withoutCall = 0;  // pieces of work whose launch is not in the trace: not in the queue
  int64_t maxDepth = 0;
  double meanDepth = 0;  // over `span`
  Duration span;         // from the first launch call to the last start on the device, clipped to the filter
  Duration queued;       // time with at least one launch waiting
  Duration full;         // time at kQueueCapacity or more
  TimePoint maxTime;     // when it was first deepest
};
// Streams with work, in order of rank. Clipped to the filter's GPU windows.
[[nodiscard]] Result<std::vector<StreamQueue>> measureQueues(Trace& trace, const Filter& filter);

}  // namespace plumb
