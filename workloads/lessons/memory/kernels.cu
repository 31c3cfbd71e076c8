// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <cmath>

#include "workloads/lessons/memory/kernels.h"
#include "workloads/nn/launch.h"
#include "workloads/nn/nvtx.h"
#include "workloads/nn/operations.h"

namespace plumb::lessons {
namespace kernels {

constexpr size_t kPerThread = 8;

// Calls work(i) for the calling thread's elements.
template <class Work>
__device__ inline void forOwn(size_t count, Work work) {
  const size_t first = (static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kPerThread;
  const size_t last = first + kPerThread < count ? first + kPerThread : count;
  for (size_t i = first; i < last; ++i) work(i);
}

__global__ void sgd(float* weight, const float* gradient, size_t count, float learningRate) {
  forOwn(count, [=](size_t i) { weight[i] -= learningRate * gradient[i]; });
}

__global__ void momentumSgd(float* weight, const float* gradient, float* momentum, size_t count, float learningRate) {
  forOwn(count, [=](size_t i) {
    momentum[i] = 0.9f * momentum[i] + gradient[i];
    weight[i] -= learningRate * momentum[i];
  });
}

__global__ void adamwMoments(const float* gradient, float* m, float* v, size_t count, float beta1, float beta2) {
  forOwn(count, [=](size_t i) {
    m[i] = beta1 * m[i] + (1.0f - beta1) * gradient[i];
    v[i] = beta2 * v[i] + (1.0f - beta2) * gradient[i] * gradient[i];
  });
}

__global__ void adamwDenominator(const float* v, float* denominator, size_t count, float inverse, float epsilon) {
  forOwn(count, [=](size_t i) { denominator[i] = sqrtf(v[i] * inverse) + epsilon; });
}

__global__ void adamwUpdate(float* weight, const float* m, const float* denominator, size_t count, float rate,
                            float decay) {
  forOwn(count, [=](size_t i) { weight[i] = weight[i] * decay - rate * m[i] / denominator[i]; });
}

}  // namespace kernels

SOFTCUDA_KERNEL(kernels::sgd)
SOFTCUDA_KERNEL(kernels::momentumSgd)
SOFTCUDA_KERNEL(kernels::adamwMoments)
SOFTCUDA_KERNEL(kernels::adamwDenominator)
SOFTCUDA_KERNEL(kernels::adamwUpdate)

namespace {

constexpr unsigned int kThreads = 256;
dim3 grid(const nn::Tensor& tensor) {
  constexpr size_t kPerBlock = kThreads * kernels::kPerThread;
  return dim3(static_cast<unsigned int>((tensor.count + kPerBlock - 1) / kPerBlock));
}

const nn::AdamwOptions kAdamw;

}  // namespace

void sgd(cudaStream_t stream, const nn::Tensor& weight, const nn::Tensor& gradient, float learningRate) {
  const nn::OperationRange range("sgd", 2 * weight.count, 3 * weight.bytes());
  nn::launch(kernels::sgd, grid(weight), kThreads, stream, weight.floats(), gradient.floats(), weight.count,
             learningRate);
}

void momentumSgd(cudaStream_t stream, const nn::Tensor& weight, const nn::Tensor& gradient, const nn::Tensor& momentum,
                 float learningRate) {
  const nn::OperationRange range("momentum sgd", 4 * weight.count, 5 * weight.bytes());
  nn::launch(kernels::momentumSgd, grid(weight), kThreads, stream, weight.floats(), gradient.floats(),
             momentum.floats(), weight.count, learningRate);
}

void adamwMoments(cudaStream_t stream, const nn::Tensor& gradient, const nn::Tensor& m, const nn::Tensor& v) {
  const nn::OperationRange range("adamw moments", 7 * m.count, 5 * m.bytes());
  nn::launch(kernels::adamwMoments, grid(m), kThreads, stream, gradient.floats(), m.floats(), v.floats(), m.count,
             kAdamw.beta1, kAdamw.beta2);
}

void adamwDenominator(cudaStream_t stream, const nn::Tensor& v, const nn::Tensor& denominator, float correction) {
  const nn::OperationRange range("adamw denominator", 3 * v.count, 2 * v.bytes());
  nn::launch(kernels::adamwDenominator, grid(v), kThreads, stream, v.floats(), denominator.floats(), v.count,
             1.0f / correction, kAdamw.epsilon);
}

void adamwUpdate(cudaStream_t stream, const nn::Tensor& weight, const nn::Tensor& m, const nn::Tensor& denominator,
                 float learningRate, float correction) {
  const nn::OperationRange range("adamw update", 4 * weight.count, 4 * weight.bytes());
  nn::launch(kernels::adamwUpdate, grid(weight), kThreads, stream, weight.floats(), m.floats(), denominator.floats(),
             weight.count, learningRate / correction, 1.0f - learningRate * kAdamw.weightDecay);
}

}  // namespace plumb::lessons
