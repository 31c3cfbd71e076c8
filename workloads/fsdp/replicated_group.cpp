// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/replicated_group.h"

#include <algorithm>

#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"

namespace plumb::fsdp {

using nn::Buffer;
using nn::Category;
using nn::Dtype;
using nn::Tensor;

GradientBuckets::GradientBuckets(const ModelShape& shape, const GroupContext& context)
    : m_context(context),
      m_gradients(context.ledger, context.compute, Category::kGradient, "buckets", Dtype::kFloat32,
                  ddpGradients(shape)) {
  // No gradient is ever written into the padding of a group.
  nn::check(cudaMemsetAsync(m_gradients.tensor().data, 0, m_gradients.tensor().bytes(), context.compute),
            "clearing the gradients");
}

Tensor GradientBuckets::take(size_t count) {
  const Tensor taken = m_gradients.tensor().slice(m_taken, count);
  m_taken += count;
  return taken;
}

size_t GradientBuckets::endOf(const Tensor& taken) const {
  return static_cast<size_t>(taken.floats() - m_gradients.tensor().floats()) + taken.count;
}

void GradientBuckets::ready(size_t end) {
  const cudaStream_t stream = m_context.mesh.stream();
  const size_t all = m_gradients.tensor().count;
  m_gradientsReady.record(m_context.compute);
  m_gradientsReady.makeWait(stream);
  for (;;) {
    const size_t next = std::min(m_sent + bucketElements(m_context.policy), all);
    if (next > end || m_sent == all) break;
    const nn::Range range("all-reduce bucket");
    m_context.mesh.replicate().allReduce(m_gradients.tensor().slice(m_sent, next - m_sent));
    m_sent = next;
  }
  m_reduced.record(stream);
  if (m_sent == all) m_sent = 0;  // for the next step
}

ReplicatedGroup::ReplicatedGroup(GroupLayout layout, uint64_t seed, const GroupContext& context,
                                 GradientBuckets& buckets)
    : ParameterGroup(std::move(layout), seed, context),
      m_buckets(buckets),
      m_inBuckets(buckets.take(m_weights.tensor().count)) {}

void ReplicatedGroup::gather() {
  if (m_context.policy.parameterDtype == Dtype::kFloat32) return;
  m_updated.makeWait(m_context.compute);
  m_cast = Buffer(m_context.ledger, m_context.compute, Category::kParameter, m_layout.name + "/cast",
                  m_context.policy.parameterDtype, m_weights.tensor().count);
  nn::cast(m_context.compute, m_weights, m_cast);
}

void ReplicatedGroup::allocateGradients(MicroStep micro) {
  if (!micro.first()) m_fresh = wholeGradient("fresh");
}

void ReplicatedGroup::reduceGradients(MicroStep micro) {
  if (m_fresh) {
    nn::add(m_context.compute, m_inBuckets, m_fresh, m_inBuckets);
    m_fresh.reset();
  }
  if (micro.last) m_buckets.ready(m_buckets.endOf(m_inBuckets));
}

void ReplicatedGroup::update(const nn::AdamwOptions& options, int step) {
  const nn::Range range(m_layout.name);
  m_buckets.awaitReduced();
  nn::adamw(m_context.compute, options, step, m_weights, m_inBuckets, m_momentum, m_variance);
  m_updated.record(m_context.compute);
}

}  // namespace plumb::fsdp
