// SPDX-License-Identifier: Apache-2.0
// One rank of a sharded training run: the schedule of gathers, passes, reductions and updates.
#pragma once
#include <memory>
#include <vector>

#include "workloads/fsdp/communicator.h"
#include "workloads/fsdp/sharded_group.h"
#include "workloads/fsdp/transformer.h"

namespace plumb::fsdp {

struct TrainingOptions {
  float learningRate = 3e-3f;
  uint64_t seed = 1;
  nn::Dtype compute = nn::Dtype::kBfloat16;
};

// The made-up text: a token follows from the one before it by an affine map over a small alphabet; where a sample
// starts follows from the seed and the sample's number over all ranks and steps, so any number of ranks sees the same
// batches. Fills targets[i] = the token after tokens[i].
void makeSamples(const ModelShape& shape, uint64_t seed, uint64_t firstSample, int* tokens, int* targets);

class Trainer {
 public:
  // communicator outlives it. Allocates and initialises on the current device.
  Trainer(const ModelShape& shape, const TrainingOptions& options, Communicator& communicator);
  ~Trainer();

  // Trains on batch number step (from 0) and returns its mean loss over all ranks, before the update.
  float step(int step);

  const nn::MemoryLedger& memory() const { return m_ledger; }
  const ShardedGroup& root() const { return *m_rootGroup; }
  const ShardedGroup& block(int index) const { return *m_blockGroups[static_cast<size_t>(index)]; }

 private:
  void loadBatch(int step);
  void forward();
  void backward();
  void update(int step);
  float readLoss();

  ModelShape m_shape;
  TrainingOptions m_options;
  Communicator& m_communicator;
  nn::MemoryLedger m_ledger;
  nn::Stream m_stream;
  nn::Gemm m_gemm;
  nn::Buffer m_scratch, m_tokens, m_targets, m_loss;
  nn::PinnedArray<int> m_hostTokens, m_hostTargets;
  nn::PinnedArray<float> m_hostLoss;
  nn::Event m_lossReady, m_lossReduced;
  Compute m_context;
  std::unique_ptr<ShardedGroup> m_rootGroup;
  std::vector<std::unique_ptr<ShardedGroup>> m_blockGroups;
  Root m_root;
  std::vector<Block> m_blocks;
  std::vector<nn::Tensor> m_inputs;  // of each block, and of the head
};

}  // namespace plumb::fsdp
