// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis' temporal breakdown, overlap, idle time per stream and kernel breakdown. Times in us.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/hta/hta_trace.h"

namespace plumb::hta {

struct Temporal {
  int64_t idle = 0, compute = 0, nonCompute = 0, kernel = 0;
};
[[nodiscard]] std::optional<Temporal> temporalBreakdown(const Rank& rank);  // none without GPU work

// Communication that computation overlaps, percent; none without communication.
[[nodiscard]] std::optional<double> overlapPercent(const Rank& rank);

struct StreamIdle {
  int64_t stream = 0;
  const char* category = "";    // "host_wait" "kernel_wait" "other"
  int64_t time = 0;             // can be negative
  std::optional<double> ratio;  // of the stream's; none when that is 0
};
[[nodiscard]] std::vector<StreamIdle> idleTime(const Rank& rank);

// Time per kernel type, "A overlapping B" apart; over the ranks given.
[[nodiscard]] std::map<std::string, int64_t> kernelTypeTimes(const std::vector<Rank>& ranks);

struct KernelRow {
  KernelType type = KernelType::Other;
  std::string name;  // or "others"
  double sum = 0, max = 0, min = 0, mean = 0, stddev = 0;
};
// kernelCount: its argument num_kernels.
[[nodiscard]] std::vector<KernelRow> kernelBreakdown(const Run& run, const Rank& rank, size_t kernelCount = 10);

}  // namespace plumb::hta
