// SPDX-License-Identifier: Apache-2.0
// The workloads' own kernels as calls on tensors: each launches one kernel (sums over rows: two) on the stream inside
// an NVTX range named after the operation that carries its flops and bytes. Dtypes of activation tensors must agree;
// counts of exp, sqrt and divisions are one flop each. Errors: DeviceError.
#pragma once
#include <cstdint>

#include <cuda_runtime_api.h>

#include "workloads/nn/tensor.h"

namespace plumb::nn {

// Rows of the scratch that sums over rows need: kColumnChunks * columns floats.
inline constexpr int kColumnChunks = 32;

// True in the build whose kernels run on a GPU.
bool kernelsAreForGpu();

void cast(cudaStream_t stream, const Tensor& in, const Tensor& out);
void add(cudaStream_t stream, const Tensor& a, const Tensor& b, const Tensor& out);
void siluForward(cudaStream_t stream, const Tensor& in, const Tensor& out);
void siluBackward(cudaStream_t stream, const Tensor& in, const Tensor& gradient);
void biasForward(cudaStream_t stream, const Tensor& x, const Tensor& bias, bool relu);
void reluBackward(cudaStream_t stream, const Tensor& output, const Tensor& gradient);

void embeddingForward(cudaStream_t stream, const Tensor& table, const Tensor& ids, const Tensor& out);
// tableGradient (fp32) is written whole.
void embeddingBackward(cudaStream_t stream, const Tensor& gradient, const Tensor& ids, const Tensor& tableGradient);

// inverseRms (fp32, one a row) is what the backward pass needs.
void rmsNormForward(cudaStream_t stream, const Tensor& in, const Tensor& gain, const Tensor& out,
                    const Tensor& inverseRms);
// residualGradient (data may be null) is added.
void rmsNormBackward(cudaStream_t stream, const Tensor& in, const Tensor& gain, const Tensor& inverseRms,
                     const Tensor& outGradient, const Tensor& residualGradient, const Tensor& inGradient);
// gainGradient (fp32) = sum over rows of outGradient * in * inverseRms.
void rmsNormGainBackward(cudaStream_t stream, const Tensor& in, const Tensor& inverseRms, const Tensor& outGradient,
                         const Tensor& scratch, const Tensor& gainGradient);
// biasGradient (fp32) = sum over rows of gradient.
void biasBackward(cudaStream_t stream, const Tensor& gradient, const Tensor& scratch, const Tensor& biasGradient);

// scores: square matrices of sequence * sequence, one after the other.
void causalSoftmaxForward(cudaStream_t stream, const Tensor& scores, int sequence);
void causalSoftmaxBackward(cudaStream_t stream, const Tensor& probabilities, const Tensor& gradient, int sequence);

void crossEntropyForward(cudaStream_t stream, const Tensor& logits, const Tensor& targets, const Tensor& loss,
                         const Tensor& logSum);
// logits become the gradient of factor * sum of losses.
void crossEntropyBackward(cudaStream_t stream, const Tensor& logits, const Tensor& targets, const Tensor& logSum,
                          float factor);
void squaredErrorForward(cudaStream_t stream, const Tensor& prediction, const Tensor& target, const Tensor& loss);
void squaredErrorBackward(cudaStream_t stream, const Tensor& prediction, const Tensor& target, const Tensor& gradient,
                          float factor);
// out[0] = factor * sum of in (fp32), always in the same order.
void sum(cudaStream_t stream, const Tensor& in, const Tensor& out, float factor);

struct AdamwOptions {
  float learningRate = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.95f;
  float epsilon = 1e-8f;
  float weightDecay = 0.01f;
  float gradientFactor = 1.0f;  // gradients are multiplied by it first: one over the loss scale
};
// One AdamW step on fp32 tensors, or, where only fp16 is kept, on fp16 tensors with every intermediate result rounded
// to fp16 as PyTorch's AdamW does it (gradientFactor has no effect there); step counts from 1.
void adamw(cudaStream_t stream, const AdamwOptions& options, int step, const Tensor& weight, const Tensor& gradient,
           const Tensor& m, const Tensor& v);
// gradient *= factor; foundNonFinite[0] becomes 1 if any gradient was inf or nan, else stays.
void scaleAndCheck(cudaStream_t stream, const Tensor& gradient, float factor, const Tensor& foundNonFinite);

// weight[i] = offset + scale * u, u uniform in [-1, 1) from (seed, firstIndex + i) alone.
void initialize(cudaStream_t stream, const Tensor& weight, uint64_t firstIndex, uint64_t seed, float scale,
                float offset);

// Memory benchmarks on fp32. triad: out = a + 3 b. read: sums (readSums(in.count) of them) of pieces of in, whose count
// is a multiple of kReadMultiple.
void triad(cudaStream_t stream, const Tensor& a, const Tensor& b, const Tensor& out);
inline constexpr size_t kReadMultiple = 16384;
size_t readSums(size_t count);
void read(cudaStream_t stream, const Tensor& in, const Tensor& sums);

}  // namespace plumb::nn
