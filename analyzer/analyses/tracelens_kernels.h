// SPDX-License-Identifier: Apache-2.0
// What TraceLens' kernel summary is made of: the kernels of each operator, name and stream.
#pragma once
#include "analyzer/analyses/analysis_table.h"

namespace plumb {

inline constexpr const char* kTraceLensKernelColumns =
    "rank INTEGER, process_id INTEGER, op_id INTEGER, name_id INTEGER, stream_id INTEGER, total_ns INTEGER, calls"
    " INTEGER, min_ns INTEGER, max_ns INTEGER";

// Of kernels that begin in the filter's GPU windows. op_id and name_id are strings; without an operator op_id is NULL.
[[nodiscard]] AnalysisRows traceLensKernelRows(Trace& trace, const Filter& filter);

}  // namespace plumb
