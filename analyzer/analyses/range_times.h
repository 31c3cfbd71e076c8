// SPDX-License-Identifier: Apache-2.0
// Ranges (NVTX, record_function, steps) on the host and as the GPU saw them.
//   self       duration without that of the ranges directly inside, on the same thread
//   projection of one range: from the start of the first to the end of the last GPU operation whose launch call lies
//              inside the range on its thread; busy is the union of those operations, which leaves out the time when
//              the GPU did nothing of it; total their summed durations
// torch runs backward passes on threads of its own while the thread that asked for one waits: what those launch counts
// for the ranges of the thread of the process that launches most of the rest, as if it had launched it itself.
//   own thread   without that (as nsys' nvtx_gpu_proj)
//   all threads  the work of whichever thread of the process
// What torch.profiler draws on the GPU itself (gpu_user_annotation) is no range of the host and left out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/host_forest.h"
#include "analyzer/analyses/statistics.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class RangeGrouping : uint8_t {
  Name,        // domain and name, without the numbers of emit_nvtx (torch_ranges.h)
  Path,        // likewise; names of the ranges around it and its own: "step > forward > block 3"
  Instance,    // every range
  OwnThread,   // domain and name; work of the range's thread alone
  AllThreads,  // domain and name; work of every thread of the process
};

struct RangeTotals {
  ProcessId process;
  StringId domain;
  std::string name;                // or path
  std::optional<int64_t> depth;    // Path, Instance: ranges around it
  std::optional<ThreadId> thread;  // Instance
  std::optional<RangeId> range;    // Instance
  std::optional<TimePoint> start;  // Instance
  int64_t openCount = 0;           // without an end: they count nowhere else, but ranges inside them have their path
  Sample host;
  Duration self;
  int64_t gpuEventCount = 0;
  Duration gpuTotal, gpuBusy;
  Sample gpuSpan;                     // of the ranges that launched something
  std::optional<TimePoint> gpuStart;  // Instance
};

// In order of rank; within a process the longest total first, instances by start, paths as a tree.
[[nodiscard]] Result<std::vector<RangeTotals>> totalRanges(Trace& trace, const Filter& filter, RangeGrouping grouping);

// Where the calls of a process' threads were made: the innermost range around a call.
class RangeForest {
 public:
  [[nodiscard]] static Result<RangeForest> load(Trace& trace);
  [[nodiscard]] const HostForest& forest() const { return m_forest; }
  // The innermost push/pop range around a call, as an index of `forest().nodes()`; its payload is an index of ranges().
  [[nodiscard]] std::optional<size_t> innermost(ThreadId thread, Interval call) const {
    return m_forest.innermost(thread.value(), call);
  }
  [[nodiscard]] StringId nameOf(size_t node) const {
    return m_ranges[static_cast<size_t>(m_forest.nodes()[node].payload)].name;
  }

  struct Range {
    RangeId id;
    ProcessId process;
    ThreadId thread;
    StringId domain, name;
    int64_t depth = 0;
    TimePoint start;
    std::optional<Duration> duration;  // none: open
    bool nests = true;                 // push/pop; false: start/end, which may overlap others in any way
  };
  [[nodiscard]] const std::vector<Range>& ranges() const { return m_ranges; }

 private:
  std::vector<Range> m_ranges;
  HostForest m_forest;  // of the push/pop ranges; track: thread
};

}  // namespace plumb
