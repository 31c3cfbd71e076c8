// SPDX-License-Identifier: Apache-2.0
// Kernels that follow one another on a stream, each of a size to read what the one before it wrote (once to four times
// as much): fused, what is between them stays in registers. Of works (roofline_work.h) whose written bytes are known:
// these are operators that only move and transform memory (memory_operators.h), whatever part of the memory roof their
// kernels attain up to all of it (above it, what they read was in a cache). Or of works that were declared, which
// memory must bound (more than 60 % of the roof), because a declaration does not tell what they are: then half of their
// bytes are taken as written, and only pairs of them as fused. Products and fused optimizers are not among them.
// Sizes and order are all that there is to judge by: torch.profiler's traces have the shapes of tensors, but neither
// their ids nor addresses.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// Chains of the same operations in the same order.
struct FusionChains {
  ProcessId process;
  std::optional<int64_t> rank;
  DeviceId device;
  std::string operations;  // "aten::pow + aten::mul"; one that follows itself twice or more: "triad repeatedly"
  int64_t count = 0, kernelCount = 0;
  Duration duration;        // sum of the kernels'
  double bytes = 0;         // read and written
  double betweenBytes = 0;  // of them those that one writes and the next reads: what fusing saves, an upper bound
  Duration saved;           // sum over the chains of duration x betweenBytes / bytes
  Interval longest;         // of these chains
  int64_t firstKernel = 0, lastKernel = 0;  // of that
};

// In order of rank and device, those that save most first. Kernels of the filter, as collectWork().
[[nodiscard]] Result<std::vector<FusionChains>> findFusionChains(Trace& trace, const Filter& filter);

}  // namespace plumb
