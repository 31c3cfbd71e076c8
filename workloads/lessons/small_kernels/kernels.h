// SPDX-License-Identifier: Apache-2.0
// bias + GELU + LayerNorm over the rows of a row-major fp32 matrix, as a chain of small kernels (what an eager
// framework launches) and as one. Pointers are device memory; errors: nn::DeviceError.
#pragma once
#include <cuda_runtime_api.h>

namespace plumb::lessons {

struct RowsShape {
  int rows;
  int columns;  // a multiple of 64
};

// Scratch of the chain: one matrix, and two numbers a row.
struct ChainScratch {
  float* matrix;
  float* mean;
  float* inverseDeviation;
};

inline constexpr int kChainLaunches = 11;

void chained(cudaStream_t stream, RowsShape shape, const float* in, const float* bias, const ChainScratch& scratch,
             float* out);
void fused(cudaStream_t stream, RowsShape shape, const float* in, const float* bias, float* out);

}  // namespace plumb::lessons
