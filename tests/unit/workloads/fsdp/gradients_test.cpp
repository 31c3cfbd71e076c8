// SPDX-License-Identifier: Apache-2.0
// The hand-written backward passes of the transformer against finite differences, in fp32, on one rank without NCCL.
#include <gtest/gtest.h>

#include "tests/unit/workloads/nn/device_arrays.h"
#include "tests/unit/workloads/nn/gradient_check.h"
#include "workloads/fsdp/trainer.h"
#include "workloads/fsdp/transformer.h"

namespace plumb::test {
namespace {

using fsdp::FlatTensors;
using fsdp::GroupLayout;
using fsdp::ModelShape;
using nn::Buffer;
using nn::Dtype;

// A whole model with its weights and gradients in flat arrays, as gathered.
class Model {
 public:
  explicit Model(const ModelShape& shape)
      : m_shape(shape),
        m_gemm(m_device.ledger(), m_device.stream()),
        m_scratch(m_device.empty(static_cast<size_t>(nn::kColumnChunks) * shape.dim)),
        m_context{m_shape, Dtype::kFloat32, m_device.stream(), m_device.ledger(), m_gemm, m_scratch.tensor()},
        m_loss(m_device.empty(1)) {
    std::vector<int> tokens(shape.tokens());
    std::vector<int> targets(shape.tokens());
    fsdp::makeSamples(shape, 5, 0, tokens.data(), targets.data());
    m_tokens = m_device.upload(tokens);
    m_targets = m_device.upload(targets);
    m_layouts.push_back(fsdp::rootLayout(shape));
    for (int i = 0; i < shape.layers; ++i) {
      m_layouts.push_back(fsdp::blockLayout(shape, i));
      m_blocks.emplace_back("block");
    }
    for (size_t g = 0; g < m_layouts.size(); ++g) {
      m_weights.push_back(m_device.empty(m_layouts[g].count()));
      m_gradients.push_back(m_device.empty(m_layouts[g].count()));
      for (size_t i = 0; i < m_layouts[g].parameters.size(); ++i) {
        // Gains that are not all 1 and a head with some weight, so that every path matters.
        nn::initialize(m_device.stream(), weights(g)[i], 0, 100 * g + i, m_layouts[g].parameters[i].scale + 0.1f,
                       m_layouts[g].parameters[i].offset);
      }
    }
  }

  DeviceArrays& device() { return m_device; }
  size_t groups() const { return m_layouts.size(); }
  const GroupLayout& layout(size_t group) const { return m_layouts[group]; }
  FlatTensors weights(size_t group) { return {m_layouts[group], m_weights[group].tensor()}; }
  FlatTensors gradients(size_t group) { return {m_layouts[group], m_gradients[group].tensor()}; }

  double forward() {
    m_inputs = {m_root.embed(m_context, weights(0), m_tokens)};
    for (size_t i = 0; i < m_blocks.size(); ++i)
      m_inputs.push_back(m_blocks[i].forward(m_context, weights(i + 1), m_inputs[i]));
    m_root.headForward(m_context, weights(0), m_inputs.back(), m_targets, m_loss, factor());
    return m_device.download(m_loss)[0];
  }

  void backward() {
    Buffer gradient = m_root.headBackward(m_context, weights(0), gradients(0), m_inputs.back(), m_targets, factor());
    for (size_t i = m_blocks.size(); i-- > 0;)
      m_blocks[i].backward(m_context, weights(i + 1), gradients(i + 1), m_inputs[i], gradient);
    m_root.embeddingBackward(m_context, gradients(0), m_tokens, std::move(gradient));
  }

 private:
  float factor() const { return 1.0f / static_cast<float>(m_shape.tokens()); }

  ModelShape m_shape;
  DeviceArrays m_device;
  nn::Gemm m_gemm;
  Buffer m_scratch;
  fsdp::Compute m_context;
  Buffer m_loss, m_tokens, m_targets;
  std::vector<GroupLayout> m_layouts;
  std::vector<Buffer> m_weights, m_gradients;
  fsdp::Root m_root;
  std::vector<fsdp::Block> m_blocks;
  std::vector<nn::Tensor> m_inputs;
};

TEST(Transformer, GradientsAgreeWithFiniteDifferences) {
  Model model({2, 32, 2, 24, 2, 8});
  model.forward();
  model.backward();
  std::vector<std::vector<float>> gradients;
  for (size_t g = 0; g < model.groups(); ++g)
    for (size_t i = 0; i < model.layout(g).parameters.size(); ++i)
      gradients.push_back(model.device().download(model.gradients(g)[i]));
  size_t next = 0;
  for (size_t g = 0; g < model.groups(); ++g) {
    for (size_t i = 0; i < model.layout(g).parameters.size(); ++i, ++next) {
      const nn::Tensor weight = model.weights(g)[i];
      const auto values = model.device().download(weight);
      const auto lossAt = [&](const std::vector<float>& others) {
        model.device().copy(weight.data, others.data(), weight.bytes(), cudaMemcpyHostToDevice);
        return model.forward();
      };
      expectGradient(model.layout(g).name + "/" + model.layout(g).parameters[i].name, values, gradients[next], lossAt);
      lossAt(values);
    }
  }
}

TEST(Transformer, NoTokenSeesItsFuture) {
  const ModelShape shape{1, 32, 2, 64, 1, 8};
  DeviceArrays device;
  nn::Gemm gemm(device.ledger(), device.stream());
  const Buffer scratch = device.empty(static_cast<size_t>(nn::kColumnChunks) * shape.dim);
  const fsdp::Compute c{shape, Dtype::kFloat32, device.stream(), device.ledger(), gemm, scratch.tensor()};
  const GroupLayout layout = fsdp::blockLayout(shape, 0);
  const Buffer weights = device.empty(layout.count());
  nn::initialize(device.stream(), weights, 0, 9, 0.3f, 0.0f);
  std::vector<float> x(shape.tokens() * 32, 0.5f);
  fsdp::Block block("block");
  const auto outputOf = [&](const std::vector<float>& in) {
    const Buffer uploaded = device.upload(in);
    return device.download(block.forward(c, {layout, weights.tensor()}, uploaded));
  };
  const auto before = outputOf(x);
  for (size_t i = 5 * 32; i < 6 * 32; ++i) x[i] = -1.5f + 0.1f * static_cast<float>(i % 7);  // token 5 is another
  const auto after = outputOf(x);
  for (size_t i = 0; i < 5 * 32; ++i) EXPECT_EQ(before[i], after[i]);
  EXPECT_NE(before[5 * 32], after[5 * 32]);
  EXPECT_NE(before[7 * 32], after[7 * 32]);
}

}  // namespace
}  // namespace plumb::test
