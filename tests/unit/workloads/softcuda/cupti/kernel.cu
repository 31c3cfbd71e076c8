// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/kernels/softcuda_kernel.h"

__global__ void fill(int* data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] = value; }
SOFTCUDA_KERNEL(fill)

cudaError_t launchFill(cudaStream_t stream, int* data, int value, unsigned blocks, unsigned threads) {
  void* arguments[] = {&data, &value};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&fill), blocks, threads, arguments, 0, stream);
}
