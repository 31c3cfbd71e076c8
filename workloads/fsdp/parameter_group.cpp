// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/parameter_group.h"

#include <algorithm>

#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"

namespace plumb::fsdp {

using nn::Buffer;
using nn::Category;
using nn::Dtype;
using nn::Tensor;

ParameterGroup::ParameterGroup(GroupLayout layout, uint64_t seed, const GroupContext& context)
    : m_layout(std::move(layout)), m_context(context) {
  const nn::Range range(m_layout.name);
  m_weights = partBuffer(Category::kParameter, "shard");
  m_momentum = partBuffer(Category::kOptimizerState, "m");
  m_variance = partBuffer(Category::kOptimizerState, "v");
  for (const Buffer* zero : {&m_weights, &m_momentum, &m_variance})
    nn::check(cudaMemsetAsync(zero->tensor().data, 0, zero->tensor().bytes(), m_context.compute), "clearing a shard");
  initialize(seed);
  m_updated.record(m_context.compute);
}

Buffer ParameterGroup::partBuffer(Category category, const char* name) const {
  return {m_context.ledger,           m_context.compute, category,
          m_layout.name + "/" + name, Dtype::kFloat32,   m_layout.shard(m_context.mesh.shards())};
}

Buffer ParameterGroup::wholeGradient(const char* name) const {
  Buffer made(m_context.ledger, m_context.compute, Category::kGradient, m_layout.name + "/" + name, Dtype::kFloat32,
              m_layout.padded(m_context.mesh.shards()));
  const size_t count = m_layout.count();
  const Tensor padding = made.tensor().slice(count, made.tensor().count - count);
  if (padding.count > 0)
    nn::check(cudaMemsetAsync(padding.data, 0, padding.bytes(), m_context.compute), "clearing a gradient's padding");
  return made;
}

void ParameterGroup::initialize(uint64_t seed) {
  const size_t shard = m_weights.tensor().count;
  const size_t begin = shard * static_cast<size_t>(m_context.mesh.shardIndex());
  for (size_t i = 0; i < m_layout.parameters.size(); ++i) {
    const ParameterSpec& parameter = m_layout.parameters[i];
    const size_t start = m_layout.offset(i);
    const size_t from = std::max(start, begin);
    const size_t to = std::min(start + parameter.count, begin + shard);
    if (from >= to) continue;
    nn::initialize(m_context.compute, m_weights.tensor().slice(from - begin, to - from), from, seed, parameter.scale,
                   parameter.offset);
  }
}

}  // namespace plumb::fsdp
