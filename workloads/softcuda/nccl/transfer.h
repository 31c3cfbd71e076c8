// SPDX-License-Identifier: Apache-2.0
// What an NCCL kernel of the software device does: one rank's part of a collective, or of a set of sends and receives,
// through the communicator's shared memory. Runs on a stream's worker thread and blocks until this rank's part is done.
// Messages may have any length: they pass in rounds through bounded stages. Every function returns false when this rank
// was aborted meanwhile; buffers are then undefined.
#pragma once
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/softcuda/nccl/reduction.h"
#include "workloads/softcuda/nccl/region.h"

namespace softnccl {

enum class Function : uint8_t {
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kSend,
  kRecv,
  // Issued as sends and receives.
  kAlltoAll,
  kScatter,
  kGather,
};
constexpr size_t kFunctions = 10;

struct Message {  // a send or a receive
  bool send;
  int peer;
  std::byte* data;
  size_t bytes;
};

// All calls on one communicator come one after another, in the same order on every rank.
class Transfer {
 public:
  explicit Transfer(Region& region) : m_region(region) {}

  bool broadcast(const void* from, void* to, size_t bytes, int root);
  bool allGather(const void* from, void* to, size_t bytes);
  bool reduce(const Operation& operation, ncclDataType_t type, const void* from, void* to, size_t count, int root);
  bool reduceScatter(const Operation& operation, ncclDataType_t type, const void* from, void* to, size_t count);
  bool allReduce(const Operation& operation, ncclDataType_t type, const void* from, void* to, size_t count);
  // All at once, in any order between peers, in the given order with one peer and direction.
  bool exchange(std::vector<Message> messages);

 private:
  bool allReduceAtOnce(const Operation& operation, ncclDataType_t type, const void* from, void* to, size_t count);
  unsigned nextParity() const { return (m_step + 1) & 1; }
  // Shows this rank's stage to the others and waits until all have shown theirs.
  bool round();
  bool progress(Message& message);

  Region& m_region;
  uint32_t m_step = 0;
};

}  // namespace softnccl
