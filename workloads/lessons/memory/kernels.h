// SPDX-License-Identifier: Apache-2.0
// Optimizer steps on fp32 tensors in device memory, AdamW in the three parts that a framework without a fused kernel
// runs. Errors: nn::DeviceError.
#pragma once
#include <cuda_runtime_api.h>

#include "workloads/nn/tensor.h"

namespace plumb::lessons {

void sgd(cudaStream_t stream, const nn::Tensor& weight, const nn::Tensor& gradient, float learningRate);
// momentum = 0.9 momentum + gradient; weight -= learningRate * momentum.
void momentumSgd(cudaStream_t stream, const nn::Tensor& weight, const nn::Tensor& gradient, const nn::Tensor& momentum,
                 float learningRate);

void adamwMoments(cudaStream_t stream, const nn::Tensor& gradient, const nn::Tensor& m, const nn::Tensor& v);
// denominator = sqrt(v / correction) + epsilon.
void adamwDenominator(cudaStream_t stream, const nn::Tensor& v, const nn::Tensor& denominator, float correction);
void adamwUpdate(cudaStream_t stream, const nn::Tensor& weight, const nn::Tensor& m, const nn::Tensor& denominator,
                 float learningRate, float correction);

}  // namespace plumb::lessons
