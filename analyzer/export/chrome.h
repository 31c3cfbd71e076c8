// SPDX-License-Identifier: Apache-2.0
// A trace as Chrome trace JSON in torch.profiler's dialect, which Perfetto, chrome://tracing, HolisticTraceAnalysis and
// TraceLens read. Times are microseconds with three decimals, exact nanoseconds, and count from a whole microsecond of
// the time of day, which is what programs round.
//   kernels, copies and sets   cat kernel, gpu_memcpy, gpu_memset with their stream, correlation, grid …
//   API calls                  cuda_runtime, cuda_driver; an arrow (ac2g) from each to the work that it launched
//   ranges                     user_annotation (or the domain that they were imported with); a step is ProfilerStep#N
//   collectives                torch's arguments (Collective name, In msg nelems, dtype …) on their kernels
//   synchronizations           cuda_sync;  counters: C;  allocations: [memory] instants
#pragma once
#include <string>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb::exports {

struct ChromeOptions {
  // A file (.json or .json.gz), or a folder that gets one file per process, rank0.json.gz …: what HTA wants.
  std::string output;
  bool isFolder = false;
  bool replace = false;
};

struct ExportResult {
  std::vector<std::string> files;
  uint64_t events = 0;
};

[[nodiscard]] Result<ExportResult> exportChrome(Trace& trace, const ChromeOptions& options);

}  // namespace plumb::exports
