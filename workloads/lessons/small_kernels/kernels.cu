// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <cmath>

#include "workloads/lessons/small_kernels/kernels.h"
#include "workloads/nn/launch.h"
#include "workloads/nn/nvtx.h"

namespace plumb::lessons {
namespace kernels {

constexpr float kGeluScale = 0.7978845608f;  // sqrt(2 / pi), of the tanh form of GELU
constexpr float kGeluCubic = 0.044715f;
constexpr float kEpsilon = 1e-5f;
// Elements of a thread, which stays in a row: columns are a multiple of it. On the CPU a thread is a loop over vectors.
#ifdef __CUDACC__
constexpr int kPerThread = 8;
#else
constexpr int kPerThread = 64;
#endif
constexpr int kPartials = 16;

// tanhf on a GPU. On the CPU the C library's is a call per element, which would hide what the lesson is about; this
// quotient of polynomials differs from it by a few units in the last place and becomes vector code.
__device__ inline float hyperbolicTangent(float x) {
#ifdef __CUDACC__
  return tanhf(x);
#else
  x = x < -7.9f ? -7.9f : (x > 7.9f ? 7.9f : x);
  const float s = x * x;
  const float numerator = ((((((-2.76076847742355e-16f * s + 2.00018790482477e-13f) * s - 8.60467152213735e-11f) * s +
                              5.12229709037114e-08f) *
                                 s +
                             1.48572235717979e-05f) *
                                s +
                            6.37261928875436e-04f) *
                               s +
                           4.89352455891786e-03f) *
                          x;
  const float denominator =
      ((1.19825839466702e-06f * s + 1.18534705686654e-04f) * s + 2.26843463243900e-03f) * s + 4.89352518554385e-03f;
  return numerator / denominator;
#endif
}

__device__ inline float gelu(float x) {
  return 0.5f * x * (1.0f + hyperbolicTangent(kGeluScale * (x + kGeluCubic * x * x * x)));
}

// One operation of an eager chain.
struct AddBias {
  static __device__ float apply(float, float in, float bias) { return in + bias; }
};
struct Cube {
  static __device__ float apply(float, float x, float) { return x * x * x; }
};
struct ScaleCubic {
  static __device__ float apply(float t, float, float) { return kGeluCubic * t; }
};
struct AddInput {
  static __device__ float apply(float t, float x, float) { return t + x; }
};
struct ScaleInner {
  static __device__ float apply(float t, float, float) { return kGeluScale * t; }
};
struct Tanh {
  static __device__ float apply(float t, float, float) { return hyperbolicTangent(t); }
};
struct AddOne {
  static __device__ float apply(float t, float, float) { return t + 1.0f; }
};
struct TimesHalfInput {
  static __device__ float apply(float t, float x, float) { return 0.5f * x * t; }
};

// target[i] = Operation(target[i], x[i], bias[column]).
template <class Operation>
__global__ void pointwise(float* target, const float* x, const float* bias, size_t count, int columns) {
  const size_t first = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kPerThread;
  if (first >= count) return;
  const size_t column = first % static_cast<size_t>(columns);
  float results[kPerThread];
  for (int k = 0; k < kPerThread; ++k) results[k] = Operation::apply(target[first + k], x[first + k], bias[column + k]);
  for (int k = 0; k < kPerThread; ++k) target[first + k] = results[k];
}

// Partial sums, so that the CPU's compiler uses vectors.
template <class Term>
__device__ inline float sumOf(int columns, Term term) {
  float partial[kPartials] = {};
  for (int i = 0; i < columns; i += kPartials)
    for (int k = 0; k < kPartials; ++k) partial[k] += term(i + k);
  float sum = 0.0f;
  for (float value : partial) sum += value;
  return sum;
}

// A thread a row.
__global__ void rowMean(const float* x, float* mean, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  const float* own = x + static_cast<size_t>(row) * columns;
  mean[row] = sumOf(columns, [=](int i) { return own[i]; }) / static_cast<float>(columns);
}

__global__ void rowInverseDeviation(const float* x, const float* mean, float* inverse, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  const float* own = x + static_cast<size_t>(row) * columns;
  const float offset = mean[row];
  const float sum = sumOf(columns, [=](int i) { return (own[i] - offset) * (own[i] - offset); });
  inverse[row] = rsqrtf(sum / static_cast<float>(columns) + kEpsilon);
}

__global__ void normalize(const float* x, const float* mean, const float* inverse, float* out, size_t count,
                          int columns) {
  const size_t first = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kPerThread;
  if (first >= count) return;
  const size_t row = first / static_cast<size_t>(columns);
  const float offset = mean[row], scale = inverse[row];
  float results[kPerThread];
  for (int k = 0; k < kPerThread; ++k) results[k] = (x[first + k] - offset) * scale;
  for (int k = 0; k < kPerThread; ++k) out[first + k] = results[k];
}

__global__ void biasGeluLayerNorm(const float* in, const float* bias, float* out, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  const float* x = in + static_cast<size_t>(row) * columns;
  float* y = out + static_cast<size_t>(row) * columns;
  for (int i = 0; i < columns; i += kPerThread) {
    float results[kPerThread];
    for (int k = 0; k < kPerThread; ++k) results[k] = gelu(x[i + k] + bias[i + k]);
    for (int k = 0; k < kPerThread; ++k) y[i + k] = results[k];
  }
  const float mean = sumOf(columns, [=](int i) { return y[i]; }) / static_cast<float>(columns);
  const float squares = sumOf(columns, [=](int i) { return (y[i] - mean) * (y[i] - mean); });
  const float inverse = rsqrtf(squares / static_cast<float>(columns) + kEpsilon);
  for (int i = 0; i < columns; ++i) y[i] = (y[i] - mean) * inverse;
}

}  // namespace kernels

SOFTCUDA_KERNEL(kernels::pointwise<kernels::AddBias>)
SOFTCUDA_KERNEL(kernels::pointwise<kernels::Cube>)
SOFTCUDA_KERNEL(kernels::pointwise<kernels::ScaleCubic>)
SOFTCUDA_KERNEL(kernels::pointwise<kernels::AddInput>)
SOFTCUDA_KERNEL(kernels::pointwise<kernels::ScaleInner>)
SOFTCUDA_KERNEL(kernels::pointwise<kernels::Tanh>)
SOFTCUDA_KERNEL(kernels::pointwise<kernels::AddOne>)
SOFTCUDA_KERNEL(kernels::pointwise<kernels::TimesHalfInput>)
SOFTCUDA_KERNEL(kernels::rowMean)
SOFTCUDA_KERNEL(kernels::rowInverseDeviation)
SOFTCUDA_KERNEL(kernels::normalize)
SOFTCUDA_KERNEL(kernels::biasGeluLayerNorm)

namespace {

constexpr unsigned int kBlock = 32;

unsigned int blocksFor(size_t threads) { return static_cast<unsigned int>((threads + kBlock - 1) / kBlock); }
size_t countOf(RowsShape shape) { return static_cast<size_t>(shape.rows) * static_cast<size_t>(shape.columns); }
uint64_t matrixBytes(RowsShape shape) { return countOf(shape) * sizeof(float); }

template <class Operation>
void step(cudaStream_t stream, RowsShape shape, float* target, const float* x, const float* bias) {
  const nn::OperationRange range("pointwise", 2 * countOf(shape), 3 * matrixBytes(shape));
  nn::launch(kernels::pointwise<Operation>, dim3(blocksFor(countOf(shape) / kernels::kPerThread + 1)), dim3(kBlock),
             stream, target, x, bias, countOf(shape), shape.columns);
}

}  // namespace

void chained(cudaStream_t stream, RowsShape shape, const float* in, const float* bias, const ChainScratch& scratch,
             float* out) {
  const size_t count = countOf(shape);
  step<kernels::AddBias>(stream, shape, out, in, bias);
  step<kernels::Cube>(stream, shape, scratch.matrix, out, bias);
  step<kernels::ScaleCubic>(stream, shape, scratch.matrix, out, bias);
  step<kernels::AddInput>(stream, shape, scratch.matrix, out, bias);
  step<kernels::ScaleInner>(stream, shape, scratch.matrix, out, bias);
  step<kernels::Tanh>(stream, shape, scratch.matrix, out, bias);
  step<kernels::AddOne>(stream, shape, scratch.matrix, out, bias);
  step<kernels::TimesHalfInput>(stream, shape, scratch.matrix, out, bias);
  const nn::OperationRange range("layer norm", 5 * count, 4 * matrixBytes(shape));
  nn::launch(kernels::rowMean, dim3(blocksFor(static_cast<size_t>(shape.rows))), dim3(kBlock), stream, scratch.matrix,
             scratch.mean, shape.rows, shape.columns);
  nn::launch(kernels::rowInverseDeviation, dim3(blocksFor(static_cast<size_t>(shape.rows))), dim3(kBlock), stream,
             scratch.matrix, scratch.mean, scratch.inverseDeviation, shape.rows, shape.columns);
  nn::launch(kernels::normalize, dim3(blocksFor(count / kernels::kPerThread + 1)), dim3(kBlock), stream, scratch.matrix,
             scratch.mean, scratch.inverseDeviation, out, count, shape.columns);
}

void fused(cudaStream_t stream, RowsShape shape, const float* in, const float* bias, float* out) {
  const nn::OperationRange range("bias gelu layer norm", 18 * countOf(shape), 2 * matrixBytes(shape));
  nn::launch(kernels::biasGeluLayerNorm, dim3(blocksFor(static_cast<size_t>(shape.rows))), dim3(kBlock), stream, in,
             bias, out, shape.rows, shape.columns);
}

}  // namespace plumb::lessons
