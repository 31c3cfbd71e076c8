// SPDX-License-Identifier: Apache-2.0
// The parameters of one block or of the root, sharded as FSDP2 does it: this rank keeps 1/N of the fp32 weights, of the
// gradients and of AdamW's state; whole weights in the compute dtype exist between gather() and release(), whole
// gradients between allocateGradients() and reduceGradients(). Collectives run on the communicator's stream; events
// order them against the compute stream, the host never waits.
#pragma once
#include "workloads/fsdp/communicator.h"
#include "workloads/fsdp/transformer.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/operations.h"

namespace plumb::fsdp {

class ShardedGroup {
 public:
  // seed: of the initial weights, which do not depend on the number of ranks. ledger and communicator outlive it.
  ShardedGroup(GroupLayout layout, uint64_t seed, nn::Dtype dtype, nn::MemoryLedger& ledger, Communicator& communicator,
               cudaStream_t compute);

  const GroupLayout& layout() const { return m_layout; }

  // Allocates the whole weights and all-gathers them. They may be used by work that is enqueued after awaitWeights().
  void gather();
  void awaitWeights() { m_gathered.makeWait(m_compute); }
  FlatTensors weights() const { return {m_layout, m_whole.tensor()}; }
  // Frees the whole weights once the compute work enqueued so far is done.
  void release();

  void allocateGradients();
  FlatTensors gradients() const { return {m_layout, m_wholeGradient.tensor()}; }
  // Sums the gradients over the ranks into the shard, after the compute work enqueued so far, and frees the whole ones.
  void reduceGradients();

  // One AdamW step on the shard, after its gradients are reduced.
  void update(const nn::AdamwOptions& options, int step);

 private:
  nn::Buffer shardBuffer(nn::Category category, const char* name);
  void initialize(uint64_t seed);

  GroupLayout m_layout;
  nn::Dtype m_dtype;
  nn::MemoryLedger& m_ledger;
  Communicator& m_communicator;
  cudaStream_t m_compute;
  nn::Buffer m_shard, m_gradientShard, m_momentum, m_variance;
  nn::Buffer m_whole, m_wholeGradient;
  nn::Event m_updated, m_gathered, m_used, m_gradientsReady, m_reduced;
};

}  // namespace plumb::fsdp
