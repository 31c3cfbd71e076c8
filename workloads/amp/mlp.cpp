// SPDX-License-Identifier: Apache-2.0
#include "workloads/amp/mlp.h"

#include <cmath>

#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"

namespace plumb::amp {

using nn::Buffer;
using nn::Category;
using nn::Dtype;
using nn::Range;
using nn::Tensor;

namespace {

Parameter makeParameter(const Compute& c, const std::string& name, size_t count, uint64_t seed, float scale) {
  const auto tensor = [&](Category category, const char* suffix) {
    return Buffer(c.ledger, c.stream, category, name + suffix, c.parameterDtype, count);
  };
  Parameter made{name, tensor(Category::kParameter, ""), tensor(Category::kGradient, ""),
                 tensor(Category::kOptimizerState, ".m"), tensor(Category::kOptimizerState, ".v")};
  for (const Buffer* zero : {&made.m, &made.v})
    nn::check(cudaMemsetAsync(zero->tensor().data, 0, zero->tensor().bytes(), c.stream),
              "clearing the optimizer's state");
  if (c.parameterDtype == Dtype::kFloat32) {
    nn::initialize(c.stream, made.weight, 0, seed, scale, 0.0f);
    return made;
  }
  const Buffer exact(c.ledger, c.stream, Category::kWorkspace, name + ".fp32", Dtype::kFloat32, count);
  nn::initialize(c.stream, exact, 0, seed, scale, 0.0f);
  nn::cast(c.stream, exact, made.weight);
  return made;
}

}  // namespace

Linear::Linear(const Compute& c, std::string name, int inputs, int outputs, bool relu, uint64_t seed)
    : m_name(std::move(name)), m_inputs(inputs), m_outputs(outputs), m_relu(relu) {
  const size_t count = static_cast<size_t>(inputs) * static_cast<size_t>(outputs);
  m_weight = makeParameter(c, m_name + "/weight", count, seed, std::sqrt(6.0f / static_cast<float>(inputs)));
  m_bias = makeParameter(c, m_name + "/bias", static_cast<size_t>(outputs), seed + 1, 0.01f);
}

const Tensor& Linear::castOf(const Compute& c, const Parameter& parameter, Buffer& to) const {
  if (!isCast(c)) return parameter.weight.tensor();
  to = Buffer(c.ledger, c.stream, Category::kParameter, parameter.name + ".cast", c.dtype,
              parameter.weight.tensor().count);
  nn::cast(c.stream, parameter.weight, to);
  return to.tensor();
}

const Tensor& Linear::forward(const Compute& c, const Tensor& in, int rows) {
  const Range range(m_name);
  const Tensor& weight = castOf(c, m_weight, m_weightCast);
  const Tensor& bias = castOf(c, m_bias, m_biasCast);
  m_output = Buffer(c.ledger, c.stream, Category::kActivation, m_name + "/output", c.dtype,
                    static_cast<size_t>(rows) * static_cast<size_t>(m_outputs));
  c.gemm.multiply(rows, m_outputs, m_inputs, {in, m_inputs}, {weight, m_outputs}, {m_output, m_outputs});
  nn::biasForward(c.stream, m_output, bias, m_relu);
  return m_output;
}

Buffer Linear::backward(const Compute& c, const Tensor& in, int rows, const Tensor& gradient, bool wantInput) {
  const Range range(m_name);
  if (m_relu) nn::reluBackward(c.stream, m_output, gradient);
  m_output.reset();
  if (isCast(c)) {
    const Buffer product(c.ledger, c.stream, Category::kGradient, m_weight.name + ".cast", c.dtype,
                         m_weight.gradient.tensor().count);
    c.gemm.multiply(m_inputs, m_outputs, rows, {in, m_inputs, true}, {gradient, m_outputs}, {product, m_outputs});
    nn::cast(c.stream, product, m_weight.gradient);
  } else {
    c.gemm.multiply(m_inputs, m_outputs, rows, {in, m_inputs, true}, {gradient, m_outputs},
                    {m_weight.gradient, m_outputs});
  }
  if (m_bias.gradient.tensor().dtype == Dtype::kFloat32) {
    nn::biasBackward(c.stream, gradient, c.scratch, m_bias.gradient);
  } else {
    const Buffer sums(c.ledger, c.stream, Category::kGradient, m_bias.name + ".sum", Dtype::kFloat32,
                      m_bias.gradient.tensor().count);
    nn::biasBackward(c.stream, gradient, c.scratch, sums);
    nn::cast(c.stream, sums, m_bias.gradient);
  }
  Buffer inGradient;
  if (wantInput) {
    inGradient = Buffer(c.ledger, c.stream, Category::kActivation, m_name + "/input gradient", c.dtype,
                        static_cast<size_t>(rows) * static_cast<size_t>(m_inputs));
    const Tensor& weight = isCast(c) ? m_weightCast.tensor() : m_weight.weight.tensor();
    c.gemm.multiply(rows, m_inputs, m_outputs, {gradient, m_outputs}, {weight, m_outputs, true},
                    {inGradient, m_inputs});
  }
  dropActivations();
  return inGradient;
}

void Linear::dropActivations() {
  m_weightCast.reset();
  m_biasCast.reset();
  m_output.reset();
}

Mlp::Mlp(const Compute& c, const std::vector<int>& widths, uint64_t seed) {
  const size_t layers = widths.size() - 1;
  for (size_t i = 0; i < layers; ++i)
    m_layers.emplace_back(c, "layer " + std::to_string(i), widths[i], widths[i + 1], i + 1 < layers,
                          (seed << 20) + 2 * i);
}

const Tensor& Mlp::forward(const Compute& c, const Tensor& in, int rows) {
  m_inputs = {in};
  if (c.dtype != Dtype::kFloat32) {
    m_inputCast = Buffer(c.ledger, c.stream, Category::kActivation, "input cast", c.dtype, in.count);
    nn::cast(c.stream, in, m_inputCast);
    m_inputs[0] = m_inputCast.tensor();
  }
  for (Linear& layer : m_layers) m_inputs.push_back(layer.forward(c, m_inputs.back(), rows));
  return m_inputs.back();
}

// A layer's output, the next one's input, is freed by that layer itself, after the next one is done with it.
void Mlp::backward(const Compute& c, Buffer gradient, int rows) {
  for (size_t i = m_layers.size(); i-- > 0;) gradient = m_layers[i].backward(c, m_inputs[i], rows, gradient, i > 0);
  m_inputCast.reset();
}

void Mlp::dropActivations() {
  for (Linear& layer : m_layers) layer.dropActivations();
  m_inputCast.reset();
}

std::vector<Parameter*> Mlp::parameters() {
  std::vector<Parameter*> all;
  for (Linear& layer : m_layers) all.insert(all.end(), {&layer.weight(), &layer.bias()});
  return all;
}

}  // namespace plumb::amp
