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

// Runs body with the widest vectors that the CPU has and this file knows; body's lambda is LESSON_INLINE.
#ifdef __CUDACC__
#define LESSON_INLINE
template <class Body>
__device__ inline void wide(const Body& body) {
  body();
}
#else
#define LESSON_INLINE __attribute__((always_inline))
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
template <class Body>
__attribute__((target("avx2,fma"))) void wideByAvx2(const Body& body) {
  body();
}
template <class Body>
inline void wide(const Body& body) {
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  kHasAvx2 ? wideByAvx2(body) : body();
}
#else
template <class Body>
inline void wide(const Body& body) {
  body();
}
#endif
#endif

// Independent partial results let the CPU's compiler use vectors; on a GPU the lanes are the vector.
constexpr int kPartial = kLanes == 1 ? 32 : 1;

// Starts fetching kPartial floats that the thread needs next. A row's passes over its cached copy would else leave the
// memory idle on the CPU; a GPU has other warps for that. A prefetch beyond the end of an array is harmless.
struct Nothing {
  __device__ LESSON_INLINE void fetch(int) const {}
};
struct ToRead {
  const float* from;
  __device__ LESSON_INLINE void fetch(int i) const {
#ifndef __CUDACC__
    for (int k = 0; k < kPartial; k += 16) __builtin_prefetch(from + i + k, 0, 2);
#endif
  }
};
struct ToWrite {
  const float* from;
  __device__ LESSON_INLINE void fetch(int i) const {
#ifndef __CUDACC__
    for (int k = 0; k < kPartial; k += 16) __builtin_prefetch(from + i + k, 1, 3);
#endif
  }
};

template <class Next, class Term>
__device__ LESSON_INLINE inline float sumOf(int columns, Next next, Term term) {
  float partial[kPartial] = {};
  const int whole = columns / (kLanes * kPartial) * (kLanes * kPartial);
  for (int i = static_cast<int>(threadIdx.x) * kPartial; i < whole; i += kLanes * kPartial) {
    next.fetch(i);
    for (int k = 0; k < kPartial; ++k) partial[k] += term(i + k);
  }
  float sum = 0.0f;
  for (int i = whole + static_cast<int>(threadIdx.x); i < columns; i += kLanes) sum += term(i);
  for (float value : partial) sum += value;
  return rowSum(sum);
}

template <class Next, class Value>
__device__ LESSON_INLINE inline float maximumOf(int columns, Next next, Value value) {
  float partial[kPartial];
  for (float& largest : partial) largest = -3.4e38f;
  const int whole = columns / (kLanes * kPartial) * (kLanes * kPartial);
  for (int i = static_cast<int>(threadIdx.x) * kPartial; i < whole; i += kLanes * kPartial) {
    next.fetch(i);
    for (int k = 0; k < kPartial; ++k) partial[k] = value(i + k) > partial[k] ? value(i + k) : partial[k];
  }
  float largest = -3.4e38f;
  for (int i = whole + static_cast<int>(threadIdx.x); i < columns; i += kLanes) largest = fmaxf(largest, value(i));
  for (float one : partial) largest = fmaxf(largest, one);
  return rowMax(largest);
}

template <class Next, class Value>
__device__ LESSON_INLINE inline void writeRow(int columns, float* out, Next next, Value value) {
  const int whole = kLanes == 1 ? columns / kPartial * kPartial : 0;
  for (int i = 0; i < whole; i += kPartial) {
    next.fetch(i);
    for (int k = i; k < i + kPartial; ++k) out[k] = value(k);
  }
  for (int i = whole + static_cast<int>(threadIdx.x); i < columns; i += kLanes) out[i] = value(i);
}

// exp for x <= 0. The C library's is a call per element on the CPU, which would make softmax a matter of arithmetic;
// this polynomial is right to about 1e-7 and becomes vector code.
__device__ LESSON_INLINE inline float exponential(float x) {
#ifdef __CUDACC__
  return __expf(x);
#else
  x = x < -87.0f ? -87.0f : x;
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504f + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return p * __int_as_float((__float_as_int(shifted) - 0x4b400000 + 127) << 23);
#endif
}

__device__ inline int rowIndex() { return static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y); }

__global__ void layerNorm(const float* in, float* out, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const float* __restrict__ x = in + static_cast<size_t>(row) * columns;
  float* __restrict__ y = out + static_cast<size_t>(row) * columns;
  wide([=]() LESSON_INLINE {
    const float mean =
        sumOf(columns, ToWrite{y}, [=](int i) LESSON_INLINE { return x[i]; }) / static_cast<float>(columns);
    const float variance =
        sumOf(columns, ToRead{x + columns}, [=](int i) LESSON_INLINE { return (x[i] - mean) * (x[i] - mean); }) /
        static_cast<float>(columns);
    const float inverse = rsqrtf(variance + 1e-5f);
    writeRow(columns, y, Nothing{}, [=](int i) LESSON_INLINE { return (x[i] - mean) * inverse; });
  });
}

__global__ void softmax(const float* in, float* out, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const float* __restrict__ x = in + static_cast<size_t>(row) * columns;
  float* __restrict__ y = out + static_cast<size_t>(row) * columns;
  wide([=]() LESSON_INLINE {
    const float largest = maximumOf(columns, ToWrite{y}, [=](int i) LESSON_INLINE { return x[i]; });
    writeRow(columns, y, ToRead{x + columns}, [=](int i) LESSON_INLINE { return exponential(x[i] - largest); });
    const float inverse = 1.0f / sumOf(columns, Nothing{}, [=](int i) LESSON_INLINE { return y[i]; });
    writeRow(columns, y, Nothing{}, [=](int i) LESSON_INLINE { return y[i] * inverse; });
  });
}

__global__ void decodeGemv(const float* matrix, const float* vector, float* out, int rows, int columns) {
  const int row = rowIndex();
  if (row >= rows) return;
  const float* x = matrix + static_cast<size_t>(row) * columns;
  wide([=]() LESSON_INLINE {
    const float sum = sumOf(columns, ToRead{x + columns / 4}, [=](int i) LESSON_INLINE { return x[i] * vector[i]; });
    if (threadIdx.x == 0) out[row] = sum;
  });
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
