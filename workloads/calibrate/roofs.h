// SPDX-License-Identifier: Apache-2.0
// Measures what a device can do at best: the roofs of a roofline.
#pragma once
#include <vector>

#include "workloads/nn/gemm.h"

namespace plumb::calibrate {

// What to measure with.
struct Effort {
  std::vector<int> matrixSizes;  // of square products
  size_t memoryElements;         // of an fp32 array that is read or written at once
  double seconds;                // per measurement, at least
};
// gpu: matrices and arrays that fill it. Otherwise sizes that the software device does in milliseconds.
Effort effortFor(bool gpu, double seconds);

// FLOP/s of the best size: 2 n^3 per product of n x n matrices.
double measureGemm(const Effort& effort, nn::Dtype dtype, nn::Float32Multiply multiply);
// Bytes read and written per second by the best of a copy, a kernel that reads only, and a triad kernel, with ordinary
// loads and stores. Each goes through arrays that together are larger than the device's caches (nn::bytesBeyondCaches)
// before it comes to one again, as a training step goes through its tensors.
double measureMemory(const Effort& effort);

}  // namespace plumb::calibrate
