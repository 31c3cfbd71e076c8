// SPDX-License-Identifier: Apache-2.0
// The parameters of one block or of the root as the trainer sees them: fp32 weights and AdamW's state of which this
// rank keeps a part (all of them with DDP), whole weights in the parameter dtype between gather() and release(), whole
// gradients in fp32 from allocateGradients() on. Collectives run on the communicator's stream; events order them
// against the compute stream, the host never waits.
#pragma once
#include <array>

#include "workloads/fsdp/mesh.h"
#include "workloads/fsdp/transformer.h"
#include "workloads/nn/memory.h"
#include "workloads/nn/operations.h"
#include "workloads/nn/stream.h"

namespace plumb::fsdp {

// Outlives the groups made with it.
struct GroupContext {
  const Policy& policy;
  const Mesh& mesh;
  nn::MemoryLedger& ledger;
  cudaStream_t compute;
};

// Which of the passes of one step this is.
struct MicroStep {
  int number = 0;
  bool last = true;

  bool first() const { return number == 0; }
};

class ParameterGroup {
 public:
  virtual ~ParameterGroup() = default;
  ParameterGroup(const ParameterGroup&) = delete;
  ParameterGroup& operator=(const ParameterGroup&) = delete;

  const GroupLayout& layout() const { return m_layout; }

  // Starts making the whole weights. They may be used by work that is enqueued after awaitWeights().
  virtual void gather() = 0;
  virtual void awaitWeights() = 0;
  virtual FlatTensors weights() const = 0;
  // Later gathers wait for the compute work enqueued so far, which bounds how far they run ahead.
  virtual void endUse() = 0;
  // endUse(), and frees the whole weights after that work.
  virtual void release() = 0;

  virtual void allocateGradients(MicroStep micro) = 0;
  virtual FlatTensors gradients() const = 0;
  // Adds them to those of the micro steps before; in the last one starts the sum over the ranks.
  virtual void reduceGradients(MicroStep micro) = 0;

  // One AdamW step on this rank's part, after its gradients are reduced.
  virtual void update(const nn::AdamwOptions& options, int step) = 0;

  // This rank's part of all that a checkpoint keeps: weights, m and v.
  std::array<nn::Tensor, 3> state() const { return {m_weights, m_momentum, m_variance}; }
  // To be called after work on another stream has changed the state.
  void stateChanged(cudaStream_t stream) { m_updated.record(stream); }

 protected:
  // seed: of the initial weights, which do not depend on the number of ranks.
  ParameterGroup(GroupLayout layout, uint64_t seed, const GroupContext& context);

  nn::Buffer partBuffer(nn::Category category, const char* name) const;
  nn::Buffer wholeGradient(const char* name) const;

  GroupLayout m_layout;
  GroupContext m_context;
  nn::Buffer m_weights, m_momentum, m_variance;
  nn::Event m_updated;

 private:
  void initialize(uint64_t seed);
};

}  // namespace plumb::fsdp
