// SPDX-License-Identifier: Apache-2.0
// TraceLens' timeline of a rank's GPUs, for --definition tracelens, so that its users can compare. Against our
// breakdown: GPU work without a launch in the trace is dropped, and a memory set is computation on CUDA and dropped on
// ROCm. TraceLens adds floating-point microseconds; here they are exact, so the last digits of short times differ.
#pragma once
#include <optional>
#include <vector>

#include "analyzer/analyses/analysis_table.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct TraceLensTimeline {
  ProcessId process;
  std::optional<int64_t> rank;
  double computation = 0, exposedCommunication = 0, exposedCopies = 0;  // ms
  double busy = 0, idle = 0, total = 0, communication = 0, copies = 0;  // ms
};

// Processes with GPU work that counts, in order of rank. With a filter as if the trace held only what begins inside it.
[[nodiscard]] Result<std::vector<TraceLensTimeline>> traceLensTimelines(Trace& trace, const Filter& filter = {});

[[nodiscard]] std::span<const AnalysisTable> traceLensTables() noexcept;

}  // namespace plumb
