// SPDX-License-Identifier: Apache-2.0
// The times that a filter leaves of each process. Host events (API calls, ranges, synchronizations, allocations) belong
// to the filter when they begin inside a host window; GPU events when they begin inside a GPU window. Interval
// arithmetic clips to the windows. What lists or counts GPU work takes that of a range by its launch instead: see
// work_filter.h.
//   --from, --to   the same for both
//   --step         host: the step's range. GPU: from the first start to the last end of the GPU work whose launch call
//                  began inside that range, on any thread of the process. In a process that declared no step: those of
//                  a repetition of its kernels (period_steps.h)
//   --range        likewise for every range of that name (rangeNamesCalled()); overlapping ones are united
#pragma once
#include <vector>

#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct ProcessWindows {
  ProcessId process;
  IntervalSet host, gpu;
};

// Every time that a trace can hold.
inline constexpr Interval kAllTime{TimePoint(-kLargestTimeNs), TimePoint(kLargestTimeNs)};

// What a filter leaves of a device whose work is this long, from its first start to its last end. Where it sets no
// limit the device's own work does; a step or a range is as long on each device of the process.
[[nodiscard]] Interval limitOf(const Filter& filter, Interval work);

// The processes of the filter's rank, in order of rank; one without a window has empty sets. Errors as checkFilter(),
// and for a step or range that has no end.
[[nodiscard]] Result<std::vector<ProcessWindows>> findWindows(Trace& trace, const Filter& filter);

// The rank, the step or the range that the filter names and the trace does not have is an error that says which it has.
[[nodiscard]] Status checkFilter(Trace& trace, const Filter& filter);

}  // namespace plumb
