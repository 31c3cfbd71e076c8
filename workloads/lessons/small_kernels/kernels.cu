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
constexpr int kPerThread = 8;

__device__ inline float gelu(float x) { return 0.5f * x * (1.0f + tanhf(kGeluScale * (x + kGeluCubic * x * x * x))); }

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
  static __device__ float apply(float t, float, float) { return tanhf(t); }
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
  for (size_t i = first; i < first + kPerThread && i < count; ++i)
    target[i] = Operation::apply(target[i], x[i], bias[i % static_cast<size_t>(columns)]);
}

// A thread a row.
__global__ void rowMean(const float* x, float* mean, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) sum += x[static_cast<size_t>(row) * columns + i];
  mean[row] = sum / static_cast<float>(columns);
}

__global__ void rowInverseDeviation(const float* x, const float* mean, float* inverse, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) {
    const float difference = x[static_cast<size_t>(row) * columns + i] - mean[row];
    sum += difference * difference;
  }
  inverse[row] = rsqrtf(sum / static_cast<float>(columns) + kEpsilon);
}

__global__ void normalize(const float* x, const float* mean, const float* inverse, float* out, size_t count,
                          int columns) {
  const size_t first = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kPerThread;
  for (size_t i = first; i < first + kPerThread && i < count; ++i) {
    const size_t row = i / static_cast<size_t>(columns);
    out[i] = (x[i] - mean[row]) * inverse[row];
  }
}

__global__ void biasGeluLayerNorm(const float* in, const float* bias, float* out, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  const float* x = in + static_cast<size_t>(row) * columns;
  float* y = out + static_cast<size_t>(row) * columns;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) {
    y[i] = gelu(x[i] + bias[i]);
    sum += y[i];
  }
  const float mean = sum / static_cast<float>(columns);
  float squares = 0.0f;
  for (int i = 0; i < columns; ++i) squares += (y[i] - mean) * (y[i] - mean);
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
