// SPDX-License-Identifier: Apache-2.0
#include "workloads/lessons/memory/training.h"

#include <algorithm>
#include <cmath>

#include "workloads/lessons/memory/kernels.h"
#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"
#include "workloads/nn/operations.h"

namespace plumb::lessons {

using nn::Buffer;
using nn::Category;
using nn::Tensor;

namespace {

constexpr float kLearningRate = 1e-4f;
constexpr nn::AdamwOptions kAdamw{kLearningRate};

}  // namespace

size_t MlpShape::weightOf(size_t layer) const {
  return static_cast<size_t>(widths[layer]) * static_cast<size_t>(widths[layer + 1]);
}

size_t MlpShape::outputOf(size_t layer) const {
  return static_cast<size_t>(batch) * static_cast<size_t>(widths[layer + 1]);
}

size_t MlpShape::parameters() const {
  size_t sum = 0;
  for (size_t layer = 0; layer < layers(); ++layer) sum += weightOf(layer) + biasOf(layer);
  return sum;
}

const char* nameOf(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return "SGD";
    case Optimizer::kMomentum:
      return "momentum";
    case Optimizer::kAdamwForeach:
      return "AdamW, foreach";
    case Optimizer::kAdamwOneByOne:
      return "AdamW, one by one";
    case Optimizer::kAdamwFused:
      return "AdamW, fused";
  }
  return "";
}

MlpTraining::MlpTraining(const MlpShape& shape, Optimizer optimizer)
    : m_shape(shape), m_optimizer(optimizer), m_gemm(m_ledger, m_stream), m_layers(shape.layers()) {
  const nn::Range range("model");
  for (size_t i = 0; i < m_layers.size(); ++i) {
    const std::string name = "layer " + std::to_string(i);
    const float scale = std::sqrt(3.0f / static_cast<float>(shape.widths[i]));
    addParameter(m_layers[i].weight, name + "/weight", shape.weightOf(i), 2 * i, scale);
    addParameter(m_layers[i].bias, name + "/bias", shape.biasOf(i), 2 * i + 1, 0.01f);
  }
  const auto rows = static_cast<size_t>(shape.batch);
  m_input = buffer(Category::kInput, "x", rows * static_cast<size_t>(shape.widths.front()));
  m_target = buffer(Category::kInput, "y", rows * static_cast<size_t>(shape.widths.back()));
  nn::initialize(m_stream, m_input, 0, 1, 1.0f, 0.0f);
  nn::initialize(m_stream, m_target, 0, 2, 1.0f, 0.0f);
  const auto widest = static_cast<size_t>(*std::max_element(shape.widths.begin(), shape.widths.end()));
  m_scratch = buffer(Category::kWorkspace, "column sums", nn::kColumnChunks * widest);
  m_loss = buffer(Category::kActivation, "loss", 1);
  m_stream.synchronize();
}

MlpTraining::~MlpTraining() { cudaStreamSynchronize(m_stream); }

Buffer MlpTraining::buffer(Category category, const std::string& name, size_t count) {
  return {m_ledger, m_stream, category, name, nn::Dtype::kFloat32, count};
}

void MlpTraining::addParameter(Parameter& parameter, const std::string& name, size_t count, uint64_t seed,
                               float scale) {
  parameter.name = name;
  parameter.weight = buffer(Category::kParameter, name, count);
  nn::initialize(m_stream, parameter.weight, 0, seed, scale, 0.0f);
}

const Tensor& MlpTraining::inputOf(size_t layer) const {
  return layer == 0 ? m_input.tensor() : m_layers[layer - 1].output.tensor();
}

void MlpTraining::forward() {
  const nn::Range range("forward");
  for (size_t i = 0; i < m_layers.size(); ++i) {
    Layer& layer = m_layers[i];
    const int in = m_shape.widths[i], out = m_shape.widths[i + 1];
    layer.output = buffer(Category::kActivation, "layer " + std::to_string(i) + "/output", m_shape.outputOf(i));
    m_gemm.multiply(m_shape.batch, out, in, {inputOf(i), in}, {layer.weight.weight, out}, {layer.output, out});
    nn::biasForward(m_stream, layer.output, layer.bias.weight, i + 1 < m_layers.size());
  }
  const Tensor& prediction = m_layers.back().output;
  const Buffer losses = buffer(Category::kActivation, "losses", prediction.count);
  nn::squaredErrorForward(m_stream, prediction, m_target, losses);
  nn::sum(m_stream, losses, m_loss, 1.0f / static_cast<float>(prediction.count));
}

void MlpTraining::backward() {
  const nn::Range range("backward");
  const Tensor prediction = m_layers.back().output;
  Buffer gradient = buffer(Category::kActivation, "loss/gradient", prediction.count);
  nn::squaredErrorBackward(m_stream, prediction, m_target, gradient, 1.0f / static_cast<float>(prediction.count));
  for (size_t i = m_layers.size(); i-- > 0;) {
    if (i + 1 < m_layers.size()) nn::reluBackward(m_stream, m_layers[i].output, gradient);
    m_layers[i].output.reset();
    backward(i, gradient);
    if (i == 0) break;
    const int in = m_shape.widths[i], out = m_shape.widths[i + 1];
    Buffer before =
        buffer(Category::kActivation, "layer " + std::to_string(i) + "/input gradient", m_shape.outputOf(i - 1));
    m_gemm.multiply(m_shape.batch, in, out, {gradient, out}, {m_layers[i].weight.weight, out, true}, {before, in});
    gradient = std::move(before);
  }
}

// The gradients of one layer's parameters, allocated when they are first needed.
void MlpTraining::backward(size_t layer, const Tensor& gradient) {
  const int in = m_shape.widths[layer], out = m_shape.widths[layer + 1];
  for (Parameter* p : {&m_layers[layer].weight, &m_layers[layer].bias}) {
    if (!p->gradient) p->gradient = buffer(Category::kGradient, p->name, p->weight.tensor().count);
  }
  m_gemm.multiply(in, out, m_shape.batch, {inputOf(layer), in, true}, {gradient, out},
                  {m_layers[layer].weight.gradient, out});
  nn::biasBackward(m_stream, gradient, m_scratch, m_layers[layer].bias.gradient);
}

std::vector<MlpTraining::Parameter*> MlpTraining::parameters() {
  std::vector<Parameter*> all;
  for (Layer& layer : m_layers) all.insert(all.end(), {&layer.weight, &layer.bias});
  return all;
}

void MlpTraining::zeroState(Buffer& state, const Parameter& parameter, const char* suffix) {
  if (state) return;
  state = buffer(Category::kOptimizerState, parameter.name + suffix, parameter.weight.tensor().count);
  nn::check(cudaMemsetAsync(state.tensor().data, 0, state.tensor().bytes(), m_stream),
            "clearing the optimizer's state");
}

void MlpTraining::optimizerStep() {
  const nn::Range range("optimizer");
  ++m_steps;
  for (Parameter* p : parameters()) {
    if (m_optimizer == Optimizer::kMomentum) zeroState(p->m, *p, ".momentum");
    if (m_optimizer < Optimizer::kAdamwForeach) continue;
    zeroState(p->m, *p, ".m");
    zeroState(p->v, *p, ".v");
  }
  if (m_optimizer == Optimizer::kAdamwForeach || m_optimizer == Optimizer::kAdamwOneByOne)
    return adamwInParts(m_optimizer == Optimizer::kAdamwForeach);
  for (Parameter* p : parameters()) {
    if (m_optimizer == Optimizer::kSgd) sgd(m_stream, p->weight, p->gradient, kLearningRate);
    if (m_optimizer == Optimizer::kMomentum) momentumSgd(m_stream, p->weight, p->gradient, p->m, kLearningRate);
    if (m_optimizer == Optimizer::kAdamwFused) nn::adamw(m_stream, kAdamw, m_steps, p->weight, p->gradient, p->m, p->v);
  }
}

void MlpTraining::adamwInParts(bool allAtOnce) {
  const float first = 1.0f - std::pow(kAdamw.beta1, static_cast<float>(m_steps));
  const float second = 1.0f - std::pow(kAdamw.beta2, static_cast<float>(m_steps));
  std::vector<Buffer> denominators;
  for (Parameter* p : parameters()) {
    adamwMoments(m_stream, p->gradient, p->m, p->v);
    if (!allAtOnce) denominators.clear();
    denominators.push_back(buffer(Category::kWorkspace, p->name + ".denominator", p->weight.tensor().count));
    adamwDenominator(m_stream, p->v, denominators.back(), second);
    if (!allAtOnce) adamwUpdate(m_stream, p->weight, p->m, denominators.back(), kLearningRate, first);
  }
  if (!allAtOnce) return;
  size_t i = 0;
  for (Parameter* p : parameters()) adamwUpdate(m_stream, p->weight, p->m, denominators[i++], kLearningRate, first);
}

float MlpTraining::loss() const {
  float value = 0.0f;
  nn::check(cudaMemcpyAsync(&value, m_loss.as<float>(), sizeof value, cudaMemcpyDeviceToHost, m_stream),
            "reading the loss");
  m_stream.synchronize();
  return value;
}

}  // namespace plumb::lessons
