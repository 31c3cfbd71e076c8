// SPDX-License-Identifier: Apache-2.0
// Training steps of processes that declared none: the period of the kernels on the stream with most of them, without
// communication. Repetitions inside one launch (of a graph) are its layers, not steps: where most begin in the launch
// that the one before began in, there are none. Repetition i owns the GPU work of the process, on all of its devices,
// that starts from its first kernel on and before that of the next repetition; the last one owns the work of its device
// up to its last kernel, and of others what starts within the median time from repetition to repetition.
#pragma once
#include <map>
#include <vector>

#include "analyzer/analyses/kernel_period.h"
#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct PeriodStep {
  Interval host;  // from the launch of its first kernel to that of the next repetition's; where unknown from
                  // there to the last end on that stream's device
  Interval gpu;   // from its first kernel's start to the last end of the work that it owns
  int64_t eventCount = 0;
};

struct PeriodSteps {
  DeviceId device;         // of that stream
  size_t kernelCount = 0;  // per step, on that stream
  std::vector<PeriodStep> steps;
};

// Processes whose kernels have a period, of those that declared no step (view steps).
[[nodiscard]] Result<std::map<ProcessId, PeriodSteps>> findPeriodSteps(Trace& trace);

}  // namespace plumb
