// SPDX-License-Identifier: Apache-2.0
// A trace as folded stacks, one line a stack: "rank 0;step;forward;block 3;softmax_kernel 12345", for flamegraph.pl,
// speedscope, inferno and the like.
//   Gpu   weight: ns of kernels, copies and sets; stack: the ranges, operators and Python calls around the launch call
//         on its thread. Work without a launch in the file stands under "(no launch recorded)".
//   Host  weight: self ns of calls (API, operating system, libraries), ranges, operators and Python calls on the host,
//         per thread.
// Ranges that need not nest (start/end) and marks are no frames, nor is what has no end.
#pragma once
#include <cstdint>
#include <string>

#include "analyzer/export/output_file.h"
#include "analyzer/trace/trace.h"

namespace plumb::exports {

enum class FoldedWeight : uint8_t { Gpu, Host };

struct FoldedResult {
  uint64_t lines = 0;
  uint64_t notNested = 0;  // start/end ranges
  uint64_t unusable = 0;   // ranges and calls without an end, and work without a usable time
};
[[nodiscard]] Result<FoldedResult> exportFolded(Trace& trace, FoldedWeight weight, OutputFile& out);
// What of it is in no stack; "" for nothing.
[[nodiscard]] std::string leftOutText(const FoldedResult& result);

}  // namespace plumb::exports
