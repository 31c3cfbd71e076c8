// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/sharded_group.h"

#include "workloads/nn/nvtx.h"

namespace plumb::fsdp {

using nn::Buffer;
using nn::Category;
using nn::Dtype;
using nn::Tensor;

ShardedGroup::ShardedGroup(GroupLayout layout, uint64_t seed, const GroupContext& context)
    : ParameterGroup(std::move(layout), seed, context), m_gradientShard(partBuffer(Category::kGradient, "shard")) {}

// In place: this rank's part of the whole is the shard, cast.
void ShardedGroup::gather() {
  const nn::Range range("all-gather " + m_layout.name);
  const cudaStream_t stream = m_context.mesh.stream();
  m_updated.makeWait(stream);
  m_whole = Buffer(m_context.ledger, stream, Category::kCommunicationBuffer, m_layout.name + "/gathered weights",
                   m_context.policy.parameterDtype, m_layout.padded(m_context.mesh.shards()));
  const size_t shard = m_weights.tensor().count;
  nn::cast(stream, m_weights, m_whole.tensor().slice(shard * static_cast<size_t>(m_context.mesh.shardIndex()), shard));
  m_context.mesh.shard().allGather(m_whole);
  m_gathered.record(stream);
}

void ShardedGroup::endUse() {
  m_used.record(m_context.compute);
  m_used.makeWait(m_context.mesh.stream());
}

void ShardedGroup::release() {
  endUse();
  m_whole.reset();
}

void ShardedGroup::accumulate() {
  if (m_accumulated) {
    nn::add(m_context.compute, m_accumulated, m_wholeGradient, m_accumulated);
    m_wholeGradient.reset();
  } else {
    m_accumulated = std::move(m_wholeGradient);
  }
}

void ShardedGroup::reduceGradients(MicroStep micro) {
  if (!micro.last || m_accumulated) accumulate();
  if (!micro.last) return;
  if (m_accumulated) m_wholeGradient = std::move(m_accumulated);
  const nn::Range range("reduce-scatter " + m_layout.name);
  const cudaStream_t stream = m_context.mesh.stream();
  m_gradientsReady.record(m_context.compute);
  m_gradientsReady.makeWait(stream);
  if (m_context.policy.reduceDtype == Dtype::kFloat32) {
    m_context.mesh.shard().reduceScatter(m_wholeGradient, m_gradientShard);
    if (m_context.policy.replicas > 1) m_context.mesh.replicate().allReduce(m_gradientShard);
  } else {
    reduceInReduceDtype();
  }
  m_reduced.record(stream);
  m_wholeGradient.freeOn(stream);
}

// In place in a copy of the gradients, of which this rank's part becomes the sum.
void ShardedGroup::reduceInReduceDtype() {
  const cudaStream_t stream = m_context.mesh.stream();
  const Buffer copy(m_context.ledger, stream, Category::kCommunicationBuffer, m_layout.name + "/gradients to reduce",
                    m_context.policy.reduceDtype, m_wholeGradient.tensor().count);
  nn::cast(stream, m_wholeGradient, copy);
  const size_t shard = m_gradientShard.tensor().count;
  const Tensor part = copy.tensor().slice(shard * static_cast<size_t>(m_context.mesh.shardIndex()), shard);
  m_context.mesh.shard().reduceScatter(copy, part);
  if (m_context.policy.replicas > 1) m_context.mesh.replicate().allReduce(part);
  nn::cast(stream, part, m_gradientShard);
}

void ShardedGroup::update(const nn::AdamwOptions& options, int step) {
  const nn::Range range(m_layout.name);
  m_reduced.makeWait(m_context.compute);
  nn::adamw(m_context.compute, options, step, m_weights, m_gradientShard, m_momentum, m_variance);
  m_updated.record(m_context.compute);
}

}  // namespace plumb::fsdp
