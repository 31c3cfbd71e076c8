// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing of CUPTI.
#include <cuda_runtime_api.h>

int main() {
  void* p = nullptr;
  if (cudaMalloc(&p, 1024) || cudaMemset(p, 0, 1024) || cudaFree(p)) return 1;
  return cudaDeviceSynchronize();
}
