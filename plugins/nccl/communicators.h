// SPDX-License-Identifier: Apache-2.0
// What is known of each communicator, and the join between kernel launches and the operations that they carry.
//
// NCCL 2.28 reports, for one plan (one kernel): KernelLaunch start and stop on the launching thread, then Group start,
// Coll or P2p of every operation in the plan, Group stop: on the same thread, or later on a CUDA host-callback thread.
// The join needs no more than that the i-th Group of a group call belongs to its i-th launch. Operations that are
// reported before their launch wait here for it until their group call ends.
//
// No locks: every field is an atomic, one thread wins each place by compare-and-swap.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/api/records.h"
#include "plugins/nccl/event_pool.h"

namespace plumb::nccl {

class Communicator {
 public:
  // Remembers a launch of a group call. When the ring is full the oldest launch is forgotten.
  void addLaunch(Handle group, uint64_t externalId) noexcept;
  // The oldest launch of the group call that no Group took yet; 0 if there is none.
  uint64_t takeLaunch(Handle group) noexcept;

  // Keeps a detail until the launch comes. Returns false if there is no room: the caller writes it as it is.
  bool addWaiting(Handle group, const CollectiveDetailRecord& detail) noexcept;
  // Takes out one waiting detail of the group call (of any, if anyGroup). Returns false when there is none (left).
  bool takeWaiting(Handle group, bool anyGroup, CollectiveDetailRecord& detail) noexcept;

  std::atomic<uint64_t> hash{0};
  std::atomic<uint32_t> isOpen{0};
  std::atomic<uint32_t> isDescribed{0};  // its CommunicatorRecord was written

 private:
  static constexpr uint32_t kLaunches = 64;
  static constexpr uint32_t kWaiting = 64;
  struct Launch {
    std::atomic<Handle> group{0};
    std::atomic<uint64_t> externalId{0};  // 0: taken
  };
  enum WaitState : uint32_t { kFree = 0, kBusy, kFull };
  struct Waiting {
    std::atomic<uint32_t> state{kFree};
    std::atomic<Handle> group{0};
    CollectiveDetailRecord detail{};
  };

  std::atomic<uint32_t> m_nextLaunch{0};
  std::atomic<uint32_t> m_waitingCount{0};
  Launch m_launches[kLaunches];
  Waiting m_waiting[kWaiting];
};

class Communicators {
 public:
  static constexpr uint32_t kCapacity = 512;

  // Index + 1 of a new communicator. When all places are in use the oldest is shared.
  uint32_t open(uint64_t hash) noexcept;
  // Never fails: a context that is not ours is treated as the first communicator.
  Communicator& at(uint32_t indexPlusOne) noexcept;

  // NCCL's context pointer <-> index + 1; 0 for a pointer that is not one of ours.
  static void* toContext(uint32_t indexPlusOne) noexcept;
  static uint32_t fromContext(const void* context) noexcept;

 private:
  std::atomic<uint32_t> m_next{0};
  Communicator m_communicators[kCapacity];
};

}  // namespace plumb::nccl
