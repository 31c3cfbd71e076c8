// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/softcuda/kernels/softcuda_kernel.h"

namespace factors {
__constant__ float ofSums[2] = {1, 1};
}
__device__ int launches;

template <int kBlock>
__global__ void __launch_bounds__(kBlock) addAll(const float* x, float* sum, int n) {
  __shared__ float partial[kBlock];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  partial[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, partial[0] * factors::ofSums[1]);
  if (i == 0) atomicAdd(&launches, 1);
}
