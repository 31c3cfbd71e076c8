// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <cmath>

#include "workloads/lessons/bound/kernels.h"
#include "workloads/nn/launch.h"
#include "workloads/nn/nvtx.h"

namespace plumb::lessons {
namespace kernels {

// A row a group of kLanes threads, as in nn/kernels.cuh: a warp on a GPU, one thread on the CPU.
#ifdef __CUDACC__
constexpr int kLanes = 32;
__device__ inline float rowSum(float value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}
__device__ inline float rowMax(float value) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}
#else
constexpr int kLanes = 1;
inline float rowSum(float value) { return value; }
inline float rowMax(float value) { return value; }
#endif

// Independent partial results let the CPU's compiler use vectors; on a GPU the lanes are the vector.
constexpr int kPartial = kLanes == 1 ? 16 : 1;

template <class Term>
__device__ inline float sumOf(int columns, Term term) {
  float partial[kPartial] = {};
  const int step = kLanes * kPartial;
  for (int i = static_cast<int>(threadIdx.x) * kPartial; i < columns; i += step)
    for (int k = 0; k < kPartial; ++k) partial[k] += i + k < columns ? term(i + k) : 0.0f;
  float sum = 0.0f;
  for (float value : partial) sum += value;
  return rowSum(sum);
}

template <class Value>
__device__ inline void writeRow(int columns, float* out, Value value) {
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kLanes) out[i] = value(i);
}

__device__ inline int rowIndex() { return static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y); }

__global__ void layerNorm(const float* in, float* out, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const float* x = in + static_cast<size_t>(row) * columns;
  const float mean = sumOf(columns, [=](int i) { return x[i]; }) / static_cast<float>(columns);
  const float variance =
      sumOf(columns, [=](int i) { return (x[i] - mean) * (x[i] - mean); }) / static_cast<float>(columns);
  const float inverse = rsqrtf(variance + 1e-5f);
  writeRow(columns, out + static_cast<size_t>(row) * columns, [=](int i) { return (x[i] - mean) * inverse; });
}

__global__ void softmax(const float* in, float* out, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const float* x = in + static_cast<size_t>(row) * columns;
  float largest = x[0];
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kLanes) largest = fmaxf(largest, x[i]);
  largest = rowMax(largest);
  float* y = out + static_cast<size_t>(row) * columns;
  writeRow(columns, y, [=](int i) { return __expf(x[i] - largest); });
  const float inverse = 1.0f / sumOf(columns, [=](int i) { return y[i]; });
  writeRow(columns, y, [=](int i) { return y[i] * inverse; });
}

__global__ void decodeGemv(const float* matrix, const float* vector, float* out, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const float* x = matrix + static_cast<size_t>(row) * columns;
  const float sum = sumOf(columns, [=](int i) { return x[i] * vector[i]; });
  if (threadIdx.x == 0) out[row] = sum;
}

}  // namespace kernels

SOFTCUDA_KERNEL(kernels::layerNorm)
SOFTCUDA_KERNEL(kernels::softmax)
SOFTCUDA_KERNEL(kernels::decodeGemv)

namespace {

constexpr unsigned int kRowsPerBlock = 4;
dim3 blocksFor(int rows) { return dim3((static_cast<unsigned int>(rows) + kRowsPerBlock - 1) / kRowsPerBlock); }
const dim3 kBlock(kernels::kLanes, kRowsPerBlock);
uint64_t countOf(int rows, int columns) { return static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns); }

}  // namespace

void layerNorm(cudaStream_t stream, const float* in, float* out, int rows, int columns) {
  const nn::OperationRange range("layer norm", 6 * countOf(rows, columns), 2 * sizeof(float) * countOf(rows, columns));
  nn::launch(kernels::layerNorm, blocksFor(rows), kBlock, stream, in, out, rows, columns);
}

void softmax(cudaStream_t stream, const float* in, float* out, int rows, int columns) {
  const nn::OperationRange range("softmax", 5 * countOf(rows, columns), 2 * sizeof(float) * countOf(rows, columns));
  nn::launch(kernels::softmax, blocksFor(rows), kBlock, stream, in, out, rows, columns);
}

void decodeGemv(cudaStream_t stream, const float* matrix, const float* vector, float* out, int rows, int columns) {
  const nn::OperationRange range("decode GEMV", 2 * countOf(rows, columns), sizeof(float) * countOf(rows, columns));
  nn::launch(kernels::decodeGemv, blocksFor(rows), kBlock, stream, matrix, vector, out, rows, columns);
}

}  // namespace plumb::lessons
