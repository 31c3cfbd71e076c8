// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/trainer.h"

#include <algorithm>

#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"

namespace plumb::fsdp {

using nn::Buffer;
using nn::Category;
using nn::Dtype;
using nn::Range;

namespace {

constexpr int kAlphabet = 64;
constexpr int kMultiplier = 5;
constexpr int kIncrement = 17;

uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The factor of each token's loss: the loss is the mean over the tokens of all ranks.
float lossFactor(const ModelShape& shape, int ranks) {
  return 1.0f / (static_cast<float>(shape.tokens()) * static_cast<float>(ranks));
}

}  // namespace

void makeSamples(const ModelShape& shape, uint64_t seed, uint64_t firstSample, int* tokens, int* targets) {
  const int alphabet = std::min(shape.vocabulary, kAlphabet);
  for (int b = 0; b < shape.batch; ++b) {
    const uint64_t start = mix(mix(seed) ^ (firstSample + static_cast<uint64_t>(b)));
    int token = static_cast<int>(start % static_cast<uint64_t>(alphabet));
    for (int i = 0; i < shape.sequence; ++i) {
      *tokens++ = token;
      token = (kMultiplier * token + kIncrement) % alphabet;
      *targets++ = token;
    }
  }
}

Trainer::Trainer(const ModelShape& shape, const TrainingOptions& options, Communicator& communicator)
    : m_shape(shape),
      m_options(options),
      m_communicator(communicator),
      m_gemm(m_ledger, m_stream),
      m_scratch(m_ledger, m_stream, Category::kWorkspace, "column sums", Dtype::kFloat32,
                static_cast<size_t>(nn::kColumnChunks) * shape.dim),
      m_tokens(m_ledger, m_stream, Category::kInput, "tokens", Dtype::kInt32, shape.tokens()),
      m_targets(m_ledger, m_stream, Category::kInput, "targets", Dtype::kInt32, shape.tokens()),
      m_loss(m_ledger, m_stream, Category::kActivation, "loss", Dtype::kFloat32, 1),
      m_hostTokens(shape.tokens()),
      m_hostTargets(shape.tokens()),
      m_hostLoss(1),
      m_context{m_shape, options.compute, m_stream, m_ledger, m_gemm, m_scratch.tensor()} {
  const auto makeGroup = [&](GroupLayout layout, uint64_t number) {
    return std::make_unique<ShardedGroup>(std::move(layout), mix(options.seed * 1000 + number), options.compute,
                                          m_ledger, communicator, m_stream);
  };
  m_rootGroup = makeGroup(rootLayout(shape), 0);
  for (int i = 0; i < shape.layers; ++i) {
    m_blockGroups.push_back(makeGroup(blockLayout(shape, i), static_cast<uint64_t>(i) + 1));
    m_blocks.emplace_back("block " + std::to_string(i));
  }
  m_stream.synchronize();
}

Trainer::~Trainer() {
  cudaStreamSynchronize(m_communicator.stream());
  cudaStreamSynchronize(m_stream);
}

float Trainer::step(int step) {
  const Range range("step", static_cast<uint64_t>(step));
  loadBatch(step);
  forward();
  backward();
  update(step);
  return readLoss();
}

void Trainer::loadBatch(int step) {
  const Range range("batch");
  const uint64_t batch = static_cast<uint64_t>(m_shape.batch);
  const uint64_t ranks = static_cast<uint64_t>(m_communicator.ranks());
  const uint64_t first = (static_cast<uint64_t>(step) * ranks + static_cast<uint64_t>(m_communicator.rank())) * batch;
  makeSamples(m_shape, m_options.seed, first, m_hostTokens.data(), m_hostTargets.data());
  nn::check(
      cudaMemcpyAsync(m_tokens.as<int>(), m_hostTokens.data(), m_hostTokens.bytes(), cudaMemcpyHostToDevice, m_stream),
      "copying the tokens");
  nn::check(cudaMemcpyAsync(m_targets.as<int>(), m_hostTargets.data(), m_hostTargets.bytes(), cudaMemcpyHostToDevice,
                            m_stream),
            "copying the targets");
}

void Trainer::forward() {
  const Range range("forward");
  const size_t layers = m_blocks.size();
  m_rootGroup->gather();
  m_blockGroups[0]->gather();
  m_rootGroup->awaitWeights();
  m_inputs = {m_root.embed(m_context, m_rootGroup->weights(), m_tokens)};
  for (size_t i = 0; i < layers; ++i) {
    if (i + 1 < layers) m_blockGroups[i + 1]->gather();
    m_blockGroups[i]->awaitWeights();
    m_inputs.push_back(m_blocks[i].forward(m_context, m_blockGroups[i]->weights(), m_inputs[i]));
    m_blockGroups[i]->release();
  }
  m_root.headForward(m_context, m_rootGroup->weights(), m_inputs[layers], m_targets, m_loss,
                     lossFactor(m_shape, m_communicator.ranks()));
  m_lossReady.record(m_stream);
}

void Trainer::backward() {
  const Range range("backward");
  const size_t layers = m_blocks.size();
  m_blockGroups[layers - 1]->gather();
  m_rootGroup->allocateGradients();
  Buffer gradient = m_root.headBackward(m_context, m_rootGroup->weights(), m_rootGroup->gradients(), m_inputs[layers],
                                        m_targets, lossFactor(m_shape, m_communicator.ranks()));
  for (size_t i = layers; i-- > 0;) {
    if (i > 0) m_blockGroups[i - 1]->gather();
    m_blockGroups[i]->awaitWeights();
    m_blockGroups[i]->allocateGradients();
    m_blocks[i].backward(m_context, m_blockGroups[i]->weights(), m_blockGroups[i]->gradients(), m_inputs[i], gradient);
    m_blockGroups[i]->release();
    m_blockGroups[i]->reduceGradients();
  }
  m_root.embeddingBackward(m_context, m_rootGroup->gradients(), m_tokens, std::move(gradient));
  m_rootGroup->release();
  m_rootGroup->reduceGradients();
}

void Trainer::update(int step) {
  const Range range("optimizer");
  nn::AdamwOptions options;
  options.learningRate = m_options.learningRate;
  for (size_t i = m_blockGroups.size(); i-- > 0;) m_blockGroups[i]->update(options, step + 1);
  m_rootGroup->update(options, step + 1);
}

float Trainer::readLoss() {
  const Range range("read loss");
  const cudaStream_t stream = m_communicator.stream();
  m_lossReady.makeWait(stream);
  m_communicator.allReduce(m_loss);
  nn::check(cudaMemcpyAsync(m_hostLoss.data(), m_loss.as<float>(), m_hostLoss.bytes(), cudaMemcpyDeviceToHost, stream),
            "copying the loss");
  nn::check(cudaStreamSynchronize(stream), "waiting for the communication stream");
  m_stream.synchronize();
  return m_hostLoss[0];
}

}  // namespace plumb::fsdp
