// SPDX-License-Identifier: Apache-2.0
// Kernels by name with their total time, over all ranks.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb {

struct KernelTotal {
  std::string name;  // short name
  int64_t count = 0;
  Duration total, shortest, longest;
  bool isCommunication = false;
};

struct TopKernels {
  std::vector<KernelTotal> kernels;  // longest total first
  Duration total;                    // sum of all durations
  bool byName = false;               // communication of at least one process was told by name
};

[[nodiscard]] Result<TopKernels> totalKernels(Trace& trace);

}  // namespace plumb
