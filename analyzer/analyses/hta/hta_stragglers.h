// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis' straggler analysis with its defaults: of the communication kernels (by the prefix ncclKernel,
// which today's ncclDevKernel has not) that take 1 % of a step or more, the one whose last launch differs most in
// duration between ranks; the ranks that start it latest are the stragglers.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/hta/hta_trace.h"

namespace plumb::hta {

inline constexpr size_t kStragglers = 2;  // its argument num_candidates

// The chosen kernel of one rank in one step.
struct LateStart {
  std::optional<int64_t> rank;
  int64_t iteration = 0;  // number of the ProfilerStep
  int64_t stream = 0;
  std::string name;
  double start = 0, duration = 0;  // in mean steps: start since the first event of all ranks
  bool isLate = false;             // among the latest of its step
  bool isStraggler = false;        // its rank is one of those that were late most often
};
// By rank, then step. None: no ProfilerStep, or no such kernel on two ranks. The filter's rank is not looked at.
[[nodiscard]] Result<std::vector<LateStart>> findStragglers(Trace& trace, const Filter& filter = {});

}  // namespace plumb::hta
