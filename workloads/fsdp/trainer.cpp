// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/trainer.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "workloads/fsdp/sharded_group.h"
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

// The factor of each token's loss: the loss is the mean over the tokens of all ranks and micro steps.
float lossFactor(const ModelShape& shape, int ranks, int accumulate) {
  return 1.0f / (static_cast<float>(shape.tokens()) * static_cast<float>(ranks) * static_cast<float>(accumulate));
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

Trainer::Trainer(const ModelShape& shape, const TrainingOptions& options, Communicator& world)
    : m_shape(shape),
      m_options(options),
      m_mesh(world, m_options.policy),
      m_gemm(m_ledger, m_stream),
      m_scratch(m_ledger, m_stream, Category::kWorkspace, "column sums", Dtype::kFloat32,
                static_cast<size_t>(nn::kColumnChunks) * shape.dim),
      m_tokens(m_ledger, m_stream, Category::kInput, "tokens", Dtype::kInt32, shape.tokens()),
      m_targets(m_ledger, m_stream, Category::kInput, "targets", Dtype::kInt32, shape.tokens()),
      m_loss(m_ledger, m_stream, Category::kActivation, "loss", Dtype::kFloat32, microSteps()),
      m_hostTokens(microSteps() * shape.tokens()),
      m_hostTargets(microSteps() * shape.tokens()),
      m_hostLoss(microSteps()),
      m_context{m_shape, options.policy.parameterDtype, m_stream, m_ledger, m_gemm, m_scratch.tensor()} {
  makeGroups();
  m_stream.synchronize();
}

// Blocks from the last to the first, then the root: the order of the backward pass.
void Trainer::makeGroups() {
  const Policy& policy = m_options.policy;
  const GroupContext context{policy, m_mesh, m_ledger, m_stream};
  if (policy.ddp) m_buckets = std::make_unique<GradientBuckets>(m_shape, context);
  const auto make = [&](GroupLayout layout, uint64_t number) -> std::unique_ptr<ParameterGroup> {
    const uint64_t seed = mix(m_options.seed * 1000 + number);
    if (policy.ddp) return std::make_unique<ReplicatedGroup>(std::move(layout), seed, context, *m_buckets);
    return std::make_unique<ShardedGroup>(std::move(layout), seed, context);
  };
  const size_t layers = static_cast<size_t>(m_shape.layers);
  m_blockGroups.resize(layers);
  for (size_t i = layers; i-- > 0;) m_blockGroups[i] = make(blockLayout(m_shape, static_cast<int>(i)), i + 1);
  m_rootGroup = make(rootLayout(m_shape), 0);
  for (size_t i = 0; i < layers; ++i) m_blocks.emplace_back("block " + std::to_string(i));
}

Trainer::~Trainer() {
  cudaStreamSynchronize(m_mesh.stream());
  cudaStreamSynchronize(m_stream);
}

void Trainer::synchronize() {
  nn::check(cudaStreamSynchronize(m_mesh.stream()), "waiting for the communication stream");
  m_stream.synchronize();
}

std::vector<ParameterGroup*> Trainer::groups() {
  std::vector<ParameterGroup*> all{m_rootGroup.get()};
  for (const auto& group : m_blockGroups) all.push_back(group.get());
  return all;
}

float Trainer::step(int step) {
  const Range range("step", static_cast<uint64_t>(step));
  m_collectives = {};
  for (MicroStep micro{0, microSteps() == 1}; micro.number < m_options.policy.accumulate;) {
    loadBatch(step, micro);
    forward(micro);
    backward(micro);
    ++micro.number;
    micro.last = micro.number + 1 == m_options.policy.accumulate;
  }
  update(step);
  return readLoss();
}

float Trainer::evaluate(int step) {
  const Range range("evaluation");
  for (MicroStep micro; micro.number < m_options.policy.accumulate; ++micro.number) {
    loadBatch(step, micro);
    forward(micro);
    if (m_options.policy.keepsWeights())
      for (const auto& group : m_blockGroups) group->release();
    m_rootGroup->release();
    for (Block& block : m_blocks) block.drop();
    m_root.drop();
  }
  return readLoss();
}

void Trainer::loadBatch(int step, MicroStep micro) {
  const Range range("batch");
  const size_t tokens = m_shape.tokens();
  const uint64_t ranks = static_cast<uint64_t>(m_mesh.world().ranks());
  const uint64_t part = (static_cast<uint64_t>(step) * microSteps() + static_cast<uint64_t>(micro.number)) * ranks +
                        static_cast<uint64_t>(m_mesh.world().rank());
  // Each micro step has host memory of its own: the copies of the one before may still be under way.
  int* hostTokens = m_hostTokens.data() + static_cast<size_t>(micro.number) * tokens;
  int* hostTargets = m_hostTargets.data() + static_cast<size_t>(micro.number) * tokens;
  makeSamples(m_shape, m_options.seed, part * static_cast<uint64_t>(m_shape.batch), hostTokens, hostTargets);
  for (const auto& [to, from] : {std::pair{m_tokens.as<int>(), hostTokens}, {m_targets.as<int>(), hostTargets}})
    nn::check(cudaMemcpyAsync(to, from, tokens * sizeof(int), cudaMemcpyHostToDevice, m_stream), "copying a batch");
}

// Without prefetch a gather waits for the compute work before it; release() of earlier blocks bounds the others.
void Trainer::gatherBlock(size_t index) {
  if (m_options.policy.prefetch == 0) {
    m_computed.record(m_stream);
    m_computed.makeWait(m_mesh.stream());
  }
  m_blockGroups[index]->gather();
}

void Trainer::forward(MicroStep micro) {
  const Range range("forward");
  const int gathersBefore = m_mesh.shard().counts().allGathers;
  const size_t layers = m_blocks.size();
  const size_t ahead = static_cast<size_t>(m_options.policy.prefetch);
  m_rootGroup->gather();
  for (size_t i = 0; i < std::min(ahead, layers); ++i) gatherBlock(i);
  m_rootGroup->awaitWeights();
  m_inputs = {m_root.embed(m_context, m_rootGroup->weights(), m_tokens)};
  for (size_t i = 0; i < layers; ++i) {
    if (i + ahead < layers) gatherBlock(i + ahead);
    ParameterGroup& group = *m_blockGroups[i];
    group.awaitWeights();
    m_inputs.push_back(m_blocks[i].forward(m_context, group.weights(), m_inputs[i]));
    if (m_options.policy.checkpointActivations) m_blocks[i].dropActivations();
    if (m_options.policy.keepsWeights())
      group.endUse();
    else
      group.release();
  }
  m_root.headForward(m_context, m_rootGroup->weights(), m_inputs[layers], m_targets,
                     m_loss.tensor().slice(static_cast<size_t>(micro.number), 1), meanFactor());
  m_lossReady.record(m_stream);
  m_collectives.forwardGathers += m_mesh.shard().counts().allGathers - gathersBefore;
}

void Trainer::backward(MicroStep micro) {
  const Range range("backward");
  const Policy& policy = m_options.policy;
  const CollectiveCounts before = m_mesh.shard().counts();
  const int allReducesBefore = m_mesh.replicate().counts().allReduces;
  const size_t layers = m_blocks.size();
  const size_t ahead = static_cast<size_t>(policy.prefetch);
  if (!policy.keepsWeights())
    for (size_t k = 1; k <= std::min(ahead, layers); ++k) gatherBlock(layers - k);
  m_rootGroup->allocateGradients(micro);
  Buffer gradient = m_root.headBackward(m_context, m_rootGroup->weights(), m_rootGroup->gradients(), m_inputs[layers],
                                        m_targets, meanFactor() * policy.lossScale());
  for (size_t i = layers; i-- > 0;) {
    if (!policy.keepsWeights() && i >= ahead) gatherBlock(i - ahead);
    ParameterGroup& group = *m_blockGroups[i];
    group.awaitWeights();
    group.allocateGradients(micro);
    if (policy.checkpointActivations) m_blocks[i].recompute(m_context, group.weights(), m_inputs[i]);
    m_blocks[i].backward(m_context, group.weights(), group.gradients(), m_inputs[i], gradient);
    group.release();
    group.reduceGradients(micro);
  }
  m_root.embeddingBackward(m_context, m_rootGroup->gradients(), m_tokens, std::move(gradient));
  m_rootGroup->release();
  m_rootGroup->reduceGradients(micro);
  m_collectives.backwardGathers += m_mesh.shard().counts().allGathers - before.allGathers;
  m_collectives.reduceScatters += m_mesh.shard().counts().reduceScatters - before.reduceScatters;
  m_collectives.gradientAllReduces += m_mesh.replicate().counts().allReduces - allReducesBefore;
}

void Trainer::update(int step) {
  const Range range("optimizer");
  nn::AdamwOptions options;
  options.learningRate = m_options.learningRate;
  const float scale = m_options.policy.lossScale();
  options.gradientFactor = 1.0f / scale;
  std::optional<Range> unscale;  // the optimizer's kernels do it
  if (scale != 1.0f) unscale.emplace("unscale", static_cast<uint64_t>(scale));
  for (size_t i = m_blockGroups.size(); i-- > 0;) m_blockGroups[i]->update(options, step + 1);
  m_rootGroup->update(options, step + 1);
}

float Trainer::meanFactor() const { return lossFactor(m_shape, m_mesh.world().ranks(), m_options.policy.accumulate); }

float Trainer::readLoss() {
  const Range range("read loss");
  const cudaStream_t stream = m_mesh.stream();
  m_lossReady.makeWait(stream);
  m_mesh.world().allReduce(m_loss);
  nn::check(cudaMemcpyAsync(m_hostLoss.data(), m_loss.as<float>(), m_hostLoss.bytes(), cudaMemcpyDeviceToHost, stream),
            "copying the loss");
  synchronize();
  return std::accumulate(m_hostLoss.data(), m_hostLoss.data() + microSteps(), 0.0f);
}

}  // namespace plumb::fsdp
