// SPDX-License-Identifier: Apache-2.0
// A multi-layer perceptron with ReLU between its layers, in fp32 or under autocast: with a 16-bit compute type, weights
// are cast once per forward pass, products, biases and activations are 16-bit, weight gradients are 16-bit products
// cast to fp32 (so that they overflow as autocast's do), bias gradients are summed in fp32. With a 16-bit parameter
// type too there is nothing to cast: weights, gradients and the optimizer's state are 16-bit tensors.
#pragma once
#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "workloads/nn/gemm.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/operations.h"

namespace plumb::amp {

// What every pass needs; outlives all that is made with it.
struct Compute {
  nn::Dtype dtype;
  cudaStream_t stream;
  nn::MemoryLedger& ledger;
  nn::Gemm& gemm;
  const nn::Tensor& scratch;  // kColumnChunks * the widest layer, floats
  nn::Dtype parameterDtype = nn::Dtype::kFloat32;
};

// The tensors of one parameter, all of the parameter type that it was made with.
struct Parameter {
  std::string name;
  nn::Buffer weight, gradient, m, v;
};

class Linear {
 public:
  Linear(const Compute& c, std::string name, int inputs, int outputs, bool relu, uint64_t seed);

  // in: of the compute dtype, stays until backward(). The result is kept here.
  const nn::Tensor& forward(const Compute& c, const nn::Tensor& in, int rows);
  // gradient: of the output, is changed. Returns that of the input; empty if !wantInput. Frees what forward() kept.
  nn::Buffer backward(const Compute& c, const nn::Tensor& in, int rows, const nn::Tensor& gradient, bool wantInput);
  void dropActivations();

  const std::string& name() const { return m_name; }
  Parameter& weight() { return m_weight; }
  Parameter& bias() { return m_bias; }

 private:
  bool isCast(const Compute& c) const { return c.dtype != m_weight.weight.tensor().dtype; }
  const nn::Tensor& castOf(const Compute& c, const Parameter& parameter, nn::Buffer& to) const;

  std::string m_name;
  int m_inputs;
  int m_outputs;
  bool m_relu;
  Parameter m_weight, m_bias;
  nn::Buffer m_weightCast, m_biasCast, m_output;
};

class Mlp {
 public:
  // widths: of the input, the hidden layers and the output.
  Mlp(const Compute& c, const std::vector<int>& widths, uint64_t seed);

  // in: fp32. Returns the predictions in the compute dtype.
  const nn::Tensor& forward(const Compute& c, const nn::Tensor& in, int rows);
  // gradient: of the predictions in the compute dtype.
  void backward(const Compute& c, nn::Buffer gradient, int rows);
  // Frees what a forward pass without a backward pass has kept.
  void dropActivations();

  std::vector<Parameter*> parameters();

 private:
  std::vector<Linear> m_layers;
  nn::Buffer m_inputCast;
  std::vector<nn::Tensor> m_inputs;  // of each layer
};

}  // namespace plumb::amp
