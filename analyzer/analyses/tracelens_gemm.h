// SPDX-License-Identifier: Apache-2.0
// TraceLens' table of matrix products (its GEMM.csv): operators of one name, shape, strides and types, with their
// FLOPs, bytes and the times of the kernels launched in them. FLOPs: 2 m n k per product, and m n for a bias; bytes:
// operands read once, the result written once. The operators of what a graph replays come
// from the trace of its capture (graph_replays.h); without it the last row of a rank says how many kernels lack theirs.
#pragma once
#include "analyzer/analyses/analysis_table.h"

namespace plumb {

inline constexpr const char* kTraceLensGemmColumns =
    "rank INTEGER, name TEXT, b INTEGER, m INTEGER, n INTEGER, k INTEGER, bias INTEGER, stride_a TEXT, stride_b TEXT,"
    " dtype_a TEXT, dtype_b TEXT, gflops REAL, data_mib REAL, flops_per_byte REAL, calls INTEGER, time_us REAL,"
    " mean_us REAL, median_us REAL, std_us REAL, min_us REAL, max_us REAL, mean_tb_per_s REAL, median_tb_per_s REAL,"
    " std_tb_per_s REAL, min_tb_per_s REAL, max_tb_per_s REAL, mean_tflops_per_s REAL, median_tflops_per_s REAL,"
    " std_tflops_per_s REAL, min_tflops_per_s REAL, max_tflops_per_s REAL, note TEXT";

// By rank, the longest total first; of operators that begin inside the filter.
[[nodiscard]] AnalysisRows traceLensGemmRows(Trace& trace, const Filter& filter);

}  // namespace plumb
