// SPDX-License-Identifier: Apache-2.0
// One rank of a sharded training run: the schedule of gathers, passes, reductions and updates.
#pragma once
#include <memory>
#include <vector>

#include "workloads/fsdp/parameter_group.h"
#include "workloads/fsdp/replicated_group.h"
#include "workloads/fsdp/transformer.h"

namespace plumb::fsdp {

struct TrainingOptions {
  float learningRate = 3e-3f;
  uint64_t seed = 1;
  Policy policy;
};

// The made-up text: a token follows from the one before it by an affine map over a small alphabet; where a sample
// starts follows from the seed and the sample's number over all ranks and steps, so any number of ranks sees the same
// batches. Fills targets[i] = the token after tokens[i].
void makeSamples(const ModelShape& shape, uint64_t seed, uint64_t firstSample, int* tokens, int* targets);

class Trainer {
 public:
  // shape: of one micro step of this rank. world outlives it. Allocates and initialises on the current device.
  Trainer(const ModelShape& shape, const TrainingOptions& options, Communicator& world);
  ~Trainer();

  // Trains on batch number step (from 0) and returns its mean loss over all ranks, before the update.
  float step(int step);
  // The mean loss of batch number step without training on it.
  float evaluate(int step);

  // Collectives of the last step.
  const StepCollectives& collectives() const { return m_collectives; }
  const nn::MemoryLedger& memory() const { return m_ledger; }
  const Mesh& mesh() const { return m_mesh; }
  // All groups, the root first.
  std::vector<ParameterGroup*> groups();
  // Waits for everything that is enqueued.
  void synchronize();

 private:
  size_t microSteps() const { return static_cast<size_t>(m_options.policy.accumulate); }
  float meanFactor() const;
  void makeGroups();
  void loadBatch(int step, MicroStep micro);
  void gatherBlock(size_t index);
  void forward(MicroStep micro);
  void backward(MicroStep micro);
  void update(int step);
  float readLoss();

  ModelShape m_shape;
  TrainingOptions m_options;
  Mesh m_mesh;
  nn::MemoryLedger m_ledger;
  nn::Stream m_stream;
  nn::Gemm m_gemm;
  nn::Buffer m_scratch, m_tokens, m_targets, m_loss;
  nn::PinnedArray<int> m_hostTokens, m_hostTargets;
  nn::PinnedArray<float> m_hostLoss;
  nn::Event m_lossReady, m_computed;
  Compute m_context;
  std::unique_ptr<GradientBuckets> m_buckets;  // with DDP
  std::unique_ptr<ParameterGroup> m_rootGroup;
  std::vector<std::unique_ptr<ParameterGroup>> m_blockGroups;
  Root m_root;
  std::vector<Block> m_blocks;
  std::vector<nn::Tensor> m_inputs;  // of each block, and of the head
  StepCollectives m_collectives;
};

}  // namespace plumb::fsdp
