// SPDX-License-Identifier: Apache-2.0
// A whole step against three roofs: compute, memory and network (the ridgeline model of Checconi et al., 2022). Of what
// was launched in a step, the least time that each resource needs is
//   compute   sum over precisions of FLOP / roof of that precision
//   memory    bytes to and from device memory / memory roof
//   network   bytes sent / network roof
// Of several devices of a process compute and memory are those of the device that needs the longest.
// The largest of them is the step's bound, and bound / span the part of it that was reached. Network intensity = FLOP /
// byte sent.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct StepRoofline {
  ProcessId process;
  std::optional<int64_t> rank;
  int64_t step = 0;
  Duration span;  // of the step's GPU work
  double flops = 0, bytes = 0, sentBytes = 0;
  Duration knownTime;                                       // of kernels whose FLOPs are known
  std::optional<double> memoryIntensity, networkIntensity;  // FLOP / byte
  // Seconds; none: no roof, or nothing of it was done.
  std::optional<double> computeSeconds, memorySeconds, networkSeconds;
  std::string bound;                 // "compute" "memory" "network"; "": none known
  std::optional<double> boundShare;  // of the span
  std::string roofs;                 // where the roofs come from, and what has none
};

// Steps with GPU work, in order of rank and step. A filter keeps those that begin inside it, whole.
[[nodiscard]] Result<std::vector<StepRoofline>> stepRooflines(Trace& trace, const Filter& filter = {});

}  // namespace plumb
