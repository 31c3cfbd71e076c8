// SPDX-License-Identifier: Apache-2.0
#include "workloads/fsdp/sharded_group.h"

#include <algorithm>

#include "workloads/nn/error.h"
#include "workloads/nn/nvtx.h"

namespace plumb::fsdp {

using nn::Buffer;
using nn::Category;
using nn::Dtype;
using nn::Tensor;

ShardedGroup::ShardedGroup(GroupLayout layout, uint64_t seed, Dtype dtype, nn::MemoryLedger& ledger,
                           Communicator& communicator, cudaStream_t compute)
    : m_layout(std::move(layout)), m_dtype(dtype), m_ledger(ledger), m_communicator(communicator), m_compute(compute) {
  const nn::Range range(m_layout.name);
  m_shard = shardBuffer(Category::kParameter, "shard");
  m_gradientShard = shardBuffer(Category::kGradient, "shard");
  m_momentum = shardBuffer(Category::kOptimizerState, "m");
  m_variance = shardBuffer(Category::kOptimizerState, "v");
  for (const Buffer* zero : {&m_shard, &m_momentum, &m_variance})
    nn::check(cudaMemsetAsync(zero->tensor().data, 0, zero->tensor().bytes(), m_compute), "clearing a shard");
  initialize(seed);
  m_updated.record(m_compute);
}

Buffer ShardedGroup::shardBuffer(Category category, const char* name) {
  return {m_ledger,        m_compute,
          category,        m_layout.name + "/" + name,
          Dtype::kFloat32, m_layout.shard(m_communicator.ranks())};
}

void ShardedGroup::initialize(uint64_t seed) {
  const size_t shard = m_shard.tensor().count;
  const size_t begin = shard * static_cast<size_t>(m_communicator.rank());
  for (size_t i = 0; i < m_layout.parameters.size(); ++i) {
    const ParameterSpec& parameter = m_layout.parameters[i];
    const size_t start = m_layout.offset(i);
    const size_t from = std::max(start, begin);
    const size_t to = std::min(start + parameter.count, begin + shard);
    if (from >= to) continue;
    nn::initialize(m_compute, m_shard.tensor().slice(from - begin, to - from), from, seed, parameter.scale,
                   parameter.offset);
  }
}

// In place: this rank's part of the whole is the shard, cast.
void ShardedGroup::gather() {
  const nn::Range range("all-gather " + m_layout.name);
  const cudaStream_t stream = m_communicator.stream();
  m_updated.makeWait(stream);
  m_whole = Buffer(m_ledger, stream, Category::kCommunicationBuffer, m_layout.name + "/gathered weights", m_dtype,
                   m_layout.padded(m_communicator.ranks()));
  const size_t shard = m_shard.tensor().count;
  nn::cast(stream, m_shard, m_whole.tensor().slice(shard * static_cast<size_t>(m_communicator.rank()), shard));
  m_communicator.allGather(m_whole);
  m_gathered.record(stream);
}

void ShardedGroup::release() {
  m_used.record(m_compute);
  m_used.makeWait(m_communicator.stream());
  m_whole.reset();
}

void ShardedGroup::allocateGradients() {
  m_wholeGradient = Buffer(m_ledger, m_compute, Category::kGradient, m_layout.name + "/whole", Dtype::kFloat32,
                           m_layout.padded(m_communicator.ranks()));
  const size_t count = m_layout.count();
  const Tensor padding = m_wholeGradient.tensor().slice(count, m_wholeGradient.tensor().count - count);
  if (padding.count > 0)
    nn::check(cudaMemsetAsync(padding.data, 0, padding.bytes(), m_compute), "clearing a gradient's padding");
}

void ShardedGroup::reduceGradients() {
  const nn::Range range("reduce-scatter " + m_layout.name);
  m_gradientsReady.record(m_compute);
  m_gradientsReady.makeWait(m_communicator.stream());
  m_communicator.reduceScatter(m_wholeGradient, m_gradientShard);
  m_reduced.record(m_communicator.stream());
  m_wholeGradient.freeOn(m_communicator.stream());
}

void ShardedGroup::update(const nn::AdamwOptions& options, int step) {
  const nn::Range range(m_layout.name);
  m_reduced.makeWait(m_compute);
  nn::adamw(m_compute, options, step, m_shard, m_gradientShard, m_momentum, m_variance);
  m_updated.record(m_compute);
}

}  // namespace plumb::fsdp
