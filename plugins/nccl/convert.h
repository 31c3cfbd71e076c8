// SPDX-License-Identifier: Apache-2.0
// NCCL's event descriptors -> one form for all versions, and that -> records. Pure.
#pragma once
#include "collector/api/records.h"
#include "plugins/nccl/event_pool.h"
#include "plugins/nccl/nccl_profiler_abi.h"

namespace plumb::nccl {

namespace abi = plumb::nccl_profiler;

// The API side of an operation (v5: CollApi, P2pApi). Texts are borrowed.
struct ApiArguments {
  const char* operation;
  const char* datatype;
  uint64_t count;
  uint64_t stream;
  int32_t root;
};

// The enqueue side (Coll, P2p).
struct TaskArguments {
  const char* operation;
  const char* datatype;
  const char* algorithm;  // NULL: none
  const char* protocol;
  uint64_t count;
  uint64_t communicatorHash;  // v1 to v3, else 0
  const char* communicatorName;
  int64_t sequence;  // -1: none
  int32_t root;
  int32_t peer;
  uint32_t channels;
};

ApiArguments convertCollApi(const abi::v5::CollApi& in) noexcept;
ApiArguments convertP2pApi(const abi::v5::P2pApi& in) noexcept;

TaskArguments convertColl(const abi::v1::Coll& in) noexcept;
TaskArguments convertColl(const abi::v2::Coll& in) noexcept;
TaskArguments convertColl(const abi::v3::Coll& in) noexcept;
TaskArguments convertColl(const abi::v4::Coll& in) noexcept;
TaskArguments convertColl(const abi::v5::Coll& in) noexcept;
TaskArguments convertP2p(const abi::v1::P2p& in) noexcept;
TaskArguments convertP2p(const abi::v2::P2p& in) noexcept;
TaskArguments convertP2p(const abi::v4::P2p& in) noexcept;
TaskArguments convertP2p(const abi::v5::P2p& in) noexcept;

// True for operations that have a root (Broadcast, Reduce, Gather, Scatter).
bool hasRoot(const char* operation) noexcept;

CommunicatorRecord makeCommunicator(uint32_t tid, uint64_t hash, StringId name, int nRanks, int rank,
                                    int nNodes) noexcept;
CollectiveRecord makeCollective(const Event& event, uint64_t communicatorHash, int64_t endNs) noexcept;

}  // namespace plumb::nccl
