// SPDX-License-Identifier: Apache-2.0
#include "plugins/nvtx/categories.h"

namespace plumb::nvtx {
namespace {

constexpr size_t kLongestProbe = 64;

// Domains are 64-bit hashes already, so mixing in the number leaves collisions as unlikely as theirs. Never 0.
uint64_t keyOf(StringId domain, uint32_t category) noexcept {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  uint64_t key = domain ^ ((uint64_t{category} + 1) * kOdd);
  key ^= key >> 29;
  return key ? key : 1;
}

}  // namespace

void Categories::name(StringId domain, uint32_t category, StringId text) noexcept {
  const uint64_t key = keyOf(domain, category);
  for (size_t i = 0; i < kLongestProbe; ++i) {
    Slot& slot = m_slots[(key + i) % kCapacity];
    uint64_t found = slot.key.load(std::memory_order_acquire);
    if (found == 0 && slot.key.compare_exchange_strong(found, key, std::memory_order_acq_rel)) {
      found = key;
    }
    if (found == key) {
      slot.text.store(text, std::memory_order_release);
      return;
    }
  }
}

StringId Categories::find(StringId domain, uint32_t category) const noexcept {
  if (category == 0) {
    return 0;
  }
  const uint64_t key = keyOf(domain, category);
  for (size_t i = 0; i < kLongestProbe; ++i) {
    const Slot& slot = m_slots[(key + i) % kCapacity];
    const uint64_t found = slot.key.load(std::memory_order_acquire);
    if (found == key) {
      return slot.text.load(std::memory_order_acquire);
    }
    if (found == 0) {
      return 0;
    }
  }
  return 0;
}

}  // namespace plumb::nvtx
