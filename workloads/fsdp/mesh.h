// SPDX-License-Identifier: Apache-2.0
// The ranks as a mesh of replicas x shards: rank = replica * shards + shard. Neighbours share a copy of the model, the
// ranks with the same shard of different copies are its replicas.
#pragma once
#include <memory>

#include "workloads/fsdp/communicator.h"
#include "workloads/fsdp/policy.h"

namespace plumb::fsdp {

class Mesh {
 public:
  // world outlives it. All ranks must make it at once, since it may split world.
  Mesh(Communicator& world, const Policy& policy) : m_world(world), m_shards(policy.shards(world.ranks())) {
    if (policy.ddp || policy.replicas == 1) return;
    m_shard = world.split(world.rank() / m_shards);
    m_replicate = world.split(world.rank() % m_shards);
  }

  int shards() const { return m_shards; }
  int shardIndex() const { return m_world.rank() % m_shards; }
  Communicator& world() const { return m_world; }
  // The ranks of one copy of the model; meaningless with DDP.
  Communicator& shard() const { return m_shard ? *m_shard : m_world; }
  // The replicas of this rank's shard: with DDP all ranks.
  Communicator& replicate() const { return m_replicate ? *m_replicate : m_world; }
  cudaStream_t stream() const { return m_world.stream(); }

 private:
  Communicator& m_world;
  int m_shards;
  std::unique_ptr<Communicator> m_shard, m_replicate;
};

}  // namespace plumb::fsdp
