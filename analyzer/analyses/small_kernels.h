// SPDX-License-Identifier: Apache-2.0
// Kernels of less than 10 µs and what the gaps before them cost: idle time of the device (idle.h) while they were
// queued behind their own stream or graph, or while their launch was being made. A gap of 100 µs or more is none of
// them: something else holds the device up. By the outermost range around the
// launching calls: a step, or the loop that launched them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

inline constexpr Duration kSmallKernel(10'000), kLongestSmallGap(100'000);

struct SmallKernels {
  ProcessId process;
  DeviceId device;
  std::optional<StringId> range;  // none: in no range
  int64_t count = 0;
  int64_t fromGraphs = 0;  // of them
  Duration kernelTime;     // sum of their durations
  Duration gapTime;
  Interval time;                            // from the first one's start to the last one's end
  int64_t firstKernel = 0, lastKernel = 0;  // rows of table kernel
};

// Of the kernels that start in the filter's GPU windows, communication left out; in order of rank, the longest gaps
// first.
[[nodiscard]] Result<std::vector<SmallKernels>> findSmallKernels(Trace& trace, const Filter& filter);

}  // namespace plumb
