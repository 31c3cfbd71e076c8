// SPDX-License-Identifier: Apache-2.0
// A trace as Chrome trace JSON in torch.profiler's dialect, which Perfetto, chrome://tracing, HolisticTraceAnalysis and
// TraceLens read. Times are microseconds with three decimals, exact nanoseconds. They count from where the source of an
// imported trace counts, else from a whole microsecond of the time of day: programs that round them round the same
// ones. Imported again it is the same trace: ranks, steps and their numbers, all arguments, equal times in the same
// order.
//   kernels, copies and sets   cat kernel, gpu_memcpy, gpu_memset with their stream, correlation, grid …
//   API calls                  cuda_runtime, cuda_driver; an arrow (ac2g) from each, or from an operator without ids and
//                              calls, to the work that it launched
//   ranges                     user_annotation (or the domain that they were imported with); a step is ProfilerStep#N,
//                              with the program's own name in its arguments
//   member "plumb_export"      when the session began, whether user_annotation stands for NVTX's default domain, and
//                              that the totals of [memory] are sums over them
//   collectives                torch's arguments (Collective name, In msg nelems, dtype …) on the operators that
//   enqueue
//                              them and on their kernels; one that has neither or says more (algorithm, state …):
//                              cat collective
//   calls of libraries         library_call (m, n, k, FLOPs …), of the operating system: os_call
//   synchronizations           cuda_sync; records of events: cuda_event_record instants
//   counters                   C
//   memory                     instants: [memory] of devices and the host as torch has it, [allocation] of other kinds,
//                              [memory region] of what the program named
//   diagnostics                instants, cat diagnostic
// chrome_contents.h has the list by table, with what has no place in such a file.
#pragma once
#include <string>
#include <vector>

#include "analyzer/export/contents.h"
#include "analyzer/trace/trace.h"

namespace plumb::exports {

struct ChromeOptions {
  // A file (.json or .json.gz), or a folder that gets one file per process, rank0.json.gz …: what HTA wants. In a file
  // of several processes each has a pid of its own; its member "processes" says which pids are which rank's, and the
  // program's own pid ("own_pid") where several share it. In a folder, what an export before this one left there counts
  // as taken, and is replaced with the rest.
  std::string output;
  bool isFolder = false;
  bool replace = false;
  bool* writeFailed = nullptr;  // is set when the error is one of writing the output (its disk is full)
};

struct ExportResult {
  std::vector<std::string> files;
  uint64_t events = 0;
  std::vector<LeftOut> leftOut;
};

[[nodiscard]] Result<ExportResult> exportChrome(Trace& trace, const ChromeOptions& options);

}  // namespace plumb::exports
