// SPDX-License-Identifier: Apache-2.0
// A group sharded as FSDP2 does it: this rank keeps 1/N of the fp32 weights, of the gradients and of AdamW's state.
// Weights are all-gathered, gradients reduce-scattered, and with replicas (HSDP) then all-reduced over them.
#pragma once
#include "workloads/fsdp/parameter_group.h"

namespace plumb::fsdp {

class ShardedGroup : public ParameterGroup {
 public:
  ShardedGroup(GroupLayout layout, uint64_t seed, const GroupContext& context);

  void gather() override;
  void awaitWeights() override { m_gathered.makeWait(m_context.compute); }
  FlatTensors weights() const override { return {m_layout, m_whole.tensor()}; }
  void endUse() override;
  void release() override;

  void allocateGradients(MicroStep) override { m_wholeGradient = wholeGradient("whole"); }
  FlatTensors gradients() const override { return {m_layout, m_wholeGradient.tensor()}; }
  void reduceGradients(MicroStep micro) override;

  void update(const nn::AdamwOptions& options, int step) override;

 private:
  void accumulate();
  void reduceInReduceDtype();

  nn::Buffer m_gradientShard;
  nn::Buffer m_whole, m_wholeGradient;
  nn::Buffer m_accumulated;  // gradients of the micro steps so far
  nn::Event m_gathered, m_used, m_gradientsReady, m_reduced;
};

}  // namespace plumb::fsdp
