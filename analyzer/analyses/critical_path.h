// SPDX-License-Identifier: Apache-2.0
// The critical path of a run over all its ranks: the chain of work and waits that the run's end depended on, from its
// first event to its last. Activities and what they begin after:
//   host   each CUDA call of a thread, and the code between two calls, before the first as far back as operators and
//          data loading reach, and likewise after the last; after what the thread did before. Calls that only ask
//          (cudaEventQuery, cudaStreamQuery …) are none: a thread that polls does no work and does not end the run
//   wait   a blocking call, or one that returned after its copy of pageable memory had ended, returns after the work
//          that it waits for: of a copy its own; of a wait for an event that before its record, where it is recorded;
//          of a wait for a stream the work of that stream that ended last before it returned, else such work of the
//          process, and when it waits for the device that of each stream
//   full   a launch call with kQueueCapacity launches before it in its stream's queue, at whose end the device took up
//   queue  the oldest, returns after the work before that
//   GPU    after the begin of the call that launched it and the latency that launching into an idle stream has at least
//          (the 10th percentile of the run), the work of its stream that ended last before it, and, behind a recorded
//          wait for an event, the work of the stream where the event was recorded that was launched before that; where
//          the record does not say which event, the work of the device that ended last before it; of a process without
//          such records, work that was launched long before (20 us) and does not follow on its stream begins after the
//          work of the device that ended just before it
//   ranks  kernels of a collective begin as other work does, and finish after the last rank's kernel has begun. They
//          are one collective by its records, else by their names (named_collectives.h). Times are compared after
//          taking off the clocks' offsets (clock_offsets.h); ranks whose clock cannot be compared with the first one's
//          are left out
// What the recording contradicts (a cause that ends after its effect begins) is left out.
// How threads wait for each other is not recorded; it is inferred: what a thread with a framework's operators did after
// a long pause (200 us without operators, data loading and CUDA calls; the longest between two calls) began after the
// last call of another thread of the process that ended in the later half of that pause, or for the first call of a
// thread at any time before. Other pauses count as host code of their thread, without a name where nothing was recorded
// around them.
// Each moment of the path belongs to one category; they add up to the whole time. Time from a cause's end to its
// effect's start is host when the effect is the host's. Before GPU work it is launch until the usual latency after the
// cause's end and the launch call's (launches.h); nothing in the recording explains what is beyond: unknown. So is what
// was before the first event of a thread or device that the path begins with.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class PathCategory : uint8_t { Compute, Communication, Memory, Launch, Host, DataLoading, Unknown };
inline constexpr size_t kPathCategoryCount = 7;
[[nodiscard]] std::string_view nameOf(PathCategory category);  // "compute" "data_loading" …

struct PathSegment {
  ProcessId process;
  ThreadId thread;  // 0: a device
  Interval time;    // by the process's own clock
  PathCategory category = PathCategory::Host;
  // Kernel or copy. Of the host what was innermost: range, operator or Python call, else CUDA call, else call of the
  // operating system's library; empty where nothing was recorded. Valid as long as the trace.
  std::string_view name;
};

// What the run would gain if all kernels of a name were faster, recomputed with everything that depends on them. The
// host's own code and the lags are taken as they were, so these are bounds.
struct PathWhatIf {
  std::string name;
  int64_t count = 0, countOnPath = 0;
  Duration total, onPath;
  Duration savedTwiceAsFast, savedFree;
};

struct CriticalPath {
  Duration whole;  // of the window that the path covers
  std::array<Duration, kPathCategoryCount> byCategory;
  Duration exposedCommunication;        // sum over devices, in the windows
  Duration exposedCommunicationOnPath;  // of it, what the run's end depended on
  int64_t activityCount = 0;
  // Communication on the path of which it is not known how much of it is waiting for ranks: their part is not in the
  // file, or nothing says which kernel it is.
  Duration withoutPeers;
  int64_t kernelsByName = 0;          // on the path: kernels of collectives that only their names tell
  std::vector<std::string> clocks;    // what is to be said of the ranks' clocks, a sentence each
  std::vector<PathSegment> segments;  // in order, without holes
  std::vector<PathWhatIf> kernels;    // the names with most time on the path, at most 20
};

// What is computed beside the shares: nothing, the segments, or the kernels.
enum class PathDetail : uint8_t { Shares, Segments, WhatIf };

// Of the filter's windows (windows.h); none when nothing was recorded in them.
[[nodiscard]] Result<std::optional<CriticalPath>> findCriticalPath(Trace& trace, const Filter& filter,
                                                                   PathDetail detail);

}  // namespace plumb
