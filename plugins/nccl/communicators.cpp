// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/communicators.h"

namespace plumb::nccl {
namespace {

constexpr uintptr_t kContextTag = uintptr_t{0x2A5C} << 50;

}  // namespace

void Communicator::addLaunch(Handle group, uint64_t externalId) noexcept {
  Launch& launch = m_launches[m_nextLaunch.fetch_add(1, std::memory_order_relaxed) % kLaunches];
  launch.externalId.store(0, std::memory_order_relaxed);
  launch.group.store(group, std::memory_order_release);
  launch.externalId.store(externalId, std::memory_order_release);
}

uint64_t Communicator::takeLaunch(Handle group) noexcept {
  const uint32_t next = m_nextLaunch.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < kLaunches; ++i) {
    Launch& launch = m_launches[(next + i) % kLaunches];  // from the oldest on
    uint64_t externalId = launch.externalId.load(std::memory_order_acquire);
    if (externalId != 0 && launch.group.load(std::memory_order_acquire) == group &&
        launch.externalId.compare_exchange_strong(externalId, 0, std::memory_order_acq_rel)) {
      return externalId;
    }
  }
  return 0;
}

bool Communicator::addWaiting(Handle group, const CollectiveDetailRecord& detail) noexcept {
  for (Waiting& place : m_waiting) {
    uint32_t expected = kFree;
    if (place.state.compare_exchange_strong(expected, kBusy, std::memory_order_acq_rel)) {
      place.group.store(group, std::memory_order_relaxed);
      place.detail = detail;
      m_waitingCount.fetch_add(1, std::memory_order_relaxed);
      place.state.store(kFull, std::memory_order_release);
      return true;
    }
  }
  return false;
}

bool Communicator::takeWaiting(Handle group, bool anyGroup, CollectiveDetailRecord& detail) noexcept {
  if (m_waitingCount.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  for (Waiting& place : m_waiting) {
    uint32_t expected = kFull;
    if (place.state.load(std::memory_order_acquire) != kFull ||
        (!anyGroup && place.group.load(std::memory_order_relaxed) != group) ||
        !place.state.compare_exchange_strong(expected, kBusy, std::memory_order_acq_rel)) {
      continue;
    }
    const bool stillMatches = anyGroup || place.group.load(std::memory_order_relaxed) == group;
    if (!stillMatches) {
      place.state.store(kFull, std::memory_order_release);
      continue;
    }
    detail = place.detail;
    m_waitingCount.fetch_sub(1, std::memory_order_relaxed);
    place.state.store(kFree, std::memory_order_release);
    return true;
  }
  return false;
}

uint32_t Communicators::open(uint64_t hash) noexcept {
  uint32_t index = m_next.fetch_add(1, std::memory_order_relaxed) % kCapacity;
  for (uint32_t i = 0; i < kCapacity; ++i) {
    const uint32_t candidate = (index + i) % kCapacity;
    uint32_t closed = 0;
    if (m_communicators[candidate].isOpen.compare_exchange_strong(closed, 1, std::memory_order_acq_rel)) {
      index = candidate;
      break;
    }
  }
  m_communicators[index].hash.store(hash, std::memory_order_relaxed);
  m_communicators[index].isDescribed.store(0, std::memory_order_relaxed);
  return index + 1;
}

Communicator& Communicators::at(uint32_t indexPlusOne) noexcept {
  return m_communicators[indexPlusOne > 0 && indexPlusOne <= kCapacity ? indexPlusOne - 1 : 0];
}

void* Communicators::toContext(uint32_t indexPlusOne) noexcept {
  return reinterpret_cast<void*>(kContextTag | indexPlusOne);
}

uint32_t Communicators::fromContext(const void* context) noexcept {
  const auto value = reinterpret_cast<uintptr_t>(context);
  const uintptr_t index = value & ~kContextTag;
  return (value & kContextTag) == kContextTag && index <= kCapacity ? static_cast<uint32_t>(index) : 0;
}

}  // namespace plumb::nccl
