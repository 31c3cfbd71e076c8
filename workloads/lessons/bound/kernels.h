// SPDX-License-Identifier: Apache-2.0
// Row kernels that are bound by memory. Row-major fp32 matrices in device memory; errors: nn::DeviceError.
#pragma once
#include <cuda_runtime_api.h>

namespace plumb::lessons {

// out[row] = (in[row] - mean) / deviation. Two passes over a row that stays in the cache.
void layerNorm(cudaStream_t stream, const float* in, float* out, int rows, int columns);
// out[row] = exp(in[row] - maximum) / sum.
void softmax(cudaStream_t stream, const float* in, float* out, int rows, int columns);
// out[row] = matrix[row] · vector: one token's step through a linear layer.
void decodeGemv(cudaStream_t stream, const float* matrix, const float* vector, float* out, int rows, int columns);

}  // namespace plumb::lessons
