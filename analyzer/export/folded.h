// SPDX-License-Identifier: Apache-2.0
// A trace as folded stacks, one line a stack: "rank 0;step;forward;block 3;softmax_kernel 12345", for flamegraph.pl,
// speedscope, inferno and the like.
//   Gpu   weight: ns of kernels, copies and sets; stack: the ranges, operators and Python calls around the launch call
//         on its thread. Work without a launch in the file stands under "(no launch recorded)".
//   Host  weight: self ns of API calls, ranges, operators and Python calls on the host, per thread.
#pragma once
#include <cstdint>

#include "analyzer/export/output_file.h"
#include "analyzer/trace/trace.h"

namespace plumb::exports {

enum class FoldedWeight : uint8_t { Gpu, Host };

// The number of lines.
[[nodiscard]] Result<uint64_t> exportFolded(Trace& trace, FoldedWeight weight, OutputFile& out);

}  // namespace plumb::exports
