// SPDX-License-Identifier: Apache-2.0
// A program with a known number of kernels, copies and sets, and an exit code of its own.
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <cstdio>

__global__ void addOne(int* data) { data[threadIdx.x] += 1; }
SOFTCUDA_KERNEL(addOne)

int main() {
  int* data = nullptr;
  int result[32] = {};
  if (cudaMalloc(reinterpret_cast<void**>(&data), sizeof(result)) || cudaMemset(data, 0, sizeof(result))) return 1;
  void* arguments[] = {&data};
  for (int i = 0; i < 200; ++i) {
    if (cudaLaunchKernel(reinterpret_cast<const void*>(&addOne), 1, 32, arguments, 0, nullptr)) return 1;
  }
  if (cudaMemcpy(result, data, sizeof(result), cudaMemcpyDeviceToHost)) return 1;
  std::printf("result %d\n", result[31]);
  return 3;
}
