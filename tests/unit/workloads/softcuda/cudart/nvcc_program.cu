// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc, run on the software device: launches by <<<…>>>, through nvcc's own host stub; variables by nvcc's
// shadows.
#include <cstdio>
#include <vector>

#include "tests/unit/workloads/softcuda/cudart/nvcc_kernels.cuh"

int main() {
  const int n = 128;
  const std::vector<float> ones(n, 1.0f);
  float* x;
  float* sum;
  float result = -1;
  if (cudaMalloc(&x, n * sizeof(float)) || cudaMalloc(&sum, sizeof(float))) return 1;
  if (cudaMemcpy(x, ones.data(), n * sizeof(float), cudaMemcpyHostToDevice) || cudaMemset(sum, 0, sizeof(float)))
    return 1;
  const float factor = 2;
  int launched = 0;
  size_t bytes = 0;
  if (cudaMemcpyToSymbol(factors::ofSums, &factor, sizeof(factor), sizeof(factor))) return 1;
  if (cudaGetSymbolSize(&bytes, factors::ofSums) || bytes != 2 * sizeof(float)) return 1;
  addAll<32><<<n / 32, 32>>>(x, sum, n);
  if (cudaGetLastError()) return 1;
  if (cudaMemcpy(&result, sum, sizeof(float), cudaMemcpyDeviceToHost)) return 1;
  if (cudaMemcpyFromSymbol(&launched, launches, sizeof(launched))) return 1;
  std::printf("sum %g, launches %d\n", result, launched);
  return 0;
}
