// SPDX-License-Identifier: Apache-2.0
// Plain data parallelism (DDP): every rank keeps everything, and gradients are all-reduced in buckets while the
// backward pass goes on.
#pragma once
#include "workloads/fsdp/parameter_group.h"

namespace plumb::fsdp {

// The gradients of all groups as one array in the order in which the backward pass makes them, reduced in buckets of
// equal size: each as soon as its last gradient is there.
class GradientBuckets {
 public:
  GradientBuckets(const ModelShape& shape, const GroupContext& context);

  // The next group's gradients; call in the order of the backward pass.
  nn::Tensor take(size_t count);
  size_t endOf(const nn::Tensor& taken) const;

  // Everything before element end is made by the compute work enqueued so far.
  void ready(size_t end);
  // Makes the compute stream wait for the buckets reduced so far.
  void awaitReduced() { m_reduced.makeWait(m_context.compute); }

 private:
  GroupContext m_context;
  nn::Buffer m_gradients;
  size_t m_taken = 0;
  size_t m_sent = 0;
  nn::Event m_gradientsReady, m_reduced;
};

class ReplicatedGroup : public ParameterGroup {
 public:
  // buckets outlives it. Groups must be made in the order of the backward pass.
  ReplicatedGroup(GroupLayout layout, uint64_t seed, const GroupContext& context, GradientBuckets& buckets);

  // Casts the weights, as autocast does; in fp32 there is nothing to do.
  void gather() override;
  void awaitWeights() override { m_updated.makeWait(m_context.compute); }
  FlatTensors weights() const override { return {m_layout, m_cast ? m_cast.tensor() : m_weights.tensor()}; }
  void endUse() override {}
  void release() override { m_cast.reset(); }

  // The first micro step writes into the buckets, later ones are added.
  void allocateGradients(MicroStep micro) override;
  FlatTensors gradients() const override { return {m_layout, m_fresh ? m_fresh.tensor() : m_inBuckets}; }
  void reduceGradients(MicroStep micro) override;

  void update(const nn::AdamwOptions& options, int step) override;

 private:
  GradientBuckets& m_buckets;
  nn::Tensor m_inBuckets;
  nn::Buffer m_cast, m_fresh;
};

}  // namespace plumb::fsdp
