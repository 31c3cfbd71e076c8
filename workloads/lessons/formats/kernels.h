// SPDX-License-Identifier: Apache-2.0
// Number formats at work on the device. Pointers are device memory; sizes in elements; errors: nn::DeviceError.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace plumb::lessons {

// The value after it was stored in the format and read back.
struct Rounded {
  float fp32;
  float fp16;
  float bf16;
};

// out[i] = in[i] through each format.
void roundThroughFormats(cudaStream_t stream, const float* in, Rounded* out, int count);

// out = increment added `times` times to 0, the running sum kept in each format.
void accumulate(cudaStream_t stream, float increment, int times, Rounded* out);

// How many of count made-up gradients, spread evenly over the decades 1e-10 … 1e-2, become zero or infinite in fp16
// when they are multiplied by scale first. counts: {zeros, infinities}, set to zero by the caller.
void countLostGradients(cudaStream_t stream, int count, float scale, unsigned int* counts);

}  // namespace plumb::lessons
