// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "workloads/lessons/formats/kernels.h"
#include "workloads/nn/launch.h"
#include "workloads/nn/nvtx.h"

namespace plumb::lessons {
namespace kernels {

__global__ void roundThroughFormats(const float* in, Rounded* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  out[i] = {in[i], __half2float(__float2half_rn(in[i])), __bfloat162float(__float2bfloat16_rn(in[i]))};
}

// One thread: the order of additions is the experiment.
__global__ void accumulate(float increment, int times, Rounded* out) {
  float sum32 = 0.0f;
  __half sum16 = __float2half_rn(0.0f);
  __nv_bfloat16 sumBf16 = __float2bfloat16_rn(0.0f);
  for (int i = 0; i < times; ++i) {
    sum32 += increment;
    sum16 = __float2half_rn(__half2float(sum16) + __half2float(__float2half_rn(increment)));
    sumBf16 = __float2bfloat16_rn(__bfloat162float(sumBf16) + __bfloat162float(__float2bfloat16_rn(increment)));
  }
  *out = {sum32, __half2float(sum16), __bfloat162float(sumBf16)};
}

__global__ void countLostGradients(int count, float scale, unsigned int* counts) {
  const int perThread = 64;
  const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * perThread;
  unsigned int zeros = 0;
  unsigned int infinities = 0;
  for (int i = first; i < first + perThread && i < count; ++i) {
    const float exponent = -10.0f + 8.0f * (static_cast<float>(i) + 0.5f) / static_cast<float>(count);
    const float value = __half2float(__float2half_rn(powf(10.0f, exponent) * scale));
    zeros += value == 0.0f ? 1u : 0u;
    infinities += isinf(value) ? 1u : 0u;
  }
  if (zeros != 0) atomicAdd(&counts[0], zeros);
  if (infinities != 0) atomicAdd(&counts[1], infinities);
}

}  // namespace kernels

namespace {
constexpr int kBlock = 64;
dim3 blocksFor(int threads) { return dim3(static_cast<unsigned int>((threads + kBlock - 1) / kBlock)); }
}  // namespace

SOFTCUDA_KERNEL(kernels::roundThroughFormats)
SOFTCUDA_KERNEL(kernels::accumulate)
SOFTCUDA_KERNEL(kernels::countLostGradients)

void roundThroughFormats(cudaStream_t stream, const float* in, Rounded* out, int count) {
  const nn::OperationRange range("round through formats", 0,
                                 static_cast<uint64_t>(count) * (sizeof(float) + sizeof(Rounded)));
  nn::launch(kernels::roundThroughFormats, blocksFor(count), dim3(kBlock), stream, in, out, count);
}

void accumulate(cudaStream_t stream, float increment, int times, Rounded* out) {
  const nn::OperationRange range("accumulate", static_cast<uint64_t>(times) * 3, sizeof(Rounded));
  nn::launch(kernels::accumulate, dim3(1), dim3(1), stream, increment, times, out);
}

void countLostGradients(cudaStream_t stream, int count, float scale, unsigned int* counts) {
  const nn::OperationRange range("count lost gradients", static_cast<uint64_t>(count) * 2, 2 * sizeof(unsigned int));
  nn::launch(kernels::countLostGradients, blocksFor((count + 63) / 64), dim3(kBlock), stream, count, scale, counts);
}

}  // namespace plumb::lessons
