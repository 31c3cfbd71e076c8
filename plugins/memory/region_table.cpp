// SPDX-License-Identifier: Apache-2.0
#include "plugins/memory/region_table.h"

#include <ctime>

namespace plumb::memory {
namespace {

// Without contention the first try succeeds. The rest bounds how long a descheduled holder can hold others up: 0.2 s.
constexpr int kSpins = 1024;
constexpr int kNaps = 2000;
constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 100'000};

Region* find(Region* regions, uint32_t count, uint64_t address) noexcept {
  for (uint32_t i = 0; i < count; ++i) {
    if (regions[i].address == address) {
      return &regions[i];
    }
  }
  return nullptr;
}

}  // namespace

class RegionTable::Hold {
 public:
  explicit Hold(Shard& shard) noexcept : m_shard(shard) {
    for (int i = 0; i < kSpins + kNaps && !m_isHeld; ++i) {
      m_isHeld = !m_shard.held.test_and_set(std::memory_order_acquire);
      if (!m_isHeld && i >= kSpins) {
        nanosleep(&kNap, nullptr);
      }
    }
  }
  ~Hold() {
    if (m_isHeld) {
      m_shard.held.clear(std::memory_order_release);
    }
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const noexcept { return m_isHeld; }

 private:
  Shard& m_shard;
  bool m_isHeld = false;
};

size_t RegionTable::shardOf(uint64_t address) noexcept {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  constexpr int kShift = 56;  // the top 8 bits: kShards
  static_assert(kShards == 256);
  return static_cast<size_t>((address * kOdd) >> kShift);
}

RegionTable::Result RegionTable::put(const Region& region, Region& before) noexcept {
  before = Region{};
  Shard& shard = m_shards[shardOf(region.address)];
  const Hold hold(shard);
  if (!hold) {
    return Result::kLost;
  }
  if (Region* known = find(shard.regions, shard.count, region.address)) {
    before = *known;
    *known = region;
    return Result::kDone;
  }
  if (shard.count == kPerShard) {
    return Result::kLost;
  }
  shard.regions[shard.count++] = region;
  return Result::kDone;
}

RegionTable::Result RegionTable::name(uint64_t address, StringId text, Region& before, Region& after) noexcept {
  Shard& shard = m_shards[shardOf(address)];
  const Hold hold(shard);
  if (!hold) {
    return Result::kLost;
  }
  Region* known = find(shard.regions, shard.count, address);
  if (!known) {
    return Result::kUnknown;
  }
  before = *known;
  known->name = text;
  after = *known;
  return Result::kDone;
}

RegionTable::Result RegionTable::resize(uint64_t address, uint64_t bytes, Region& after) noexcept {
  Shard& shard = m_shards[shardOf(address)];
  const Hold hold(shard);
  if (!hold) {
    return Result::kLost;
  }
  Region* known = find(shard.regions, shard.count, address);
  if (!known) {
    return Result::kUnknown;
  }
  known->bytes = bytes;
  after = *known;
  return Result::kDone;
}

RegionTable::Result RegionTable::remove(uint64_t address, Region& before) noexcept {
  Shard& shard = m_shards[shardOf(address)];
  const Hold hold(shard);
  if (!hold) {
    return Result::kLost;
  }
  Region* known = find(shard.regions, shard.count, address);
  if (!known) {
    return Result::kUnknown;
  }
  before = *known;
  *known = shard.regions[--shard.count];
  return Result::kDone;
}

bool RegionTable::removeOneOf(uint64_t heap, Region& before) noexcept {
  for (Shard& shard : m_shards) {
    const Hold hold(shard);
    for (uint32_t i = 0; hold && i < shard.count; ++i) {
      if (shard.regions[i].heap == heap) {
        before = shard.regions[i];
        shard.regions[i] = shard.regions[--shard.count];
        return true;
      }
    }
  }
  return false;
}

void RegionTable::releaseAll() noexcept {
  for (Shard& shard : m_shards) {
    shard.held.clear(std::memory_order_relaxed);
  }
}

}  // namespace plumb::memory
