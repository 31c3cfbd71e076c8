// SPDX-License-Identifier: Apache-2.0
// Measures what a device can do at best: the roofs of a roofline.
#pragma once
#include <vector>

#include "workloads/nn/gemm.h"

namespace plumb::calibrate {

// What to measure with.
struct Effort {
  std::vector<int> matrixSizes;        // of square products
  std::vector<size_t> memoryElements;  // of each of the three fp32 arrays of a triad
  double seconds;                      // per measurement, at least
};
// gpu: matrices that fill it, arrays far larger than its caches. Otherwise sizes that the software device does in
// milliseconds, small ones among them, because the roof of a CPU's memory includes its caches.
Effort effortFor(bool gpu, double seconds);

// FLOP/s of the best size: 2 n^3 per product of n x n matrices.
double measureGemm(const Effort& effort, nn::Dtype dtype, nn::Float32Multiply multiply);
// Bytes read and written per second, the best of a triad kernel and a copy over all sizes.
double measureMemory(const Effort& effort);

}  // namespace plumb::calibrate
