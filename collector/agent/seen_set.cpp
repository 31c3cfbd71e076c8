// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/seen_set.h"

#include <sys/mman.h>

#include <cstring>

namespace plumb::agent {
namespace {

// A full 64 × 64 bit product, folded: every bit of the input reaches every bit of the result.
uint64_t mix(uint64_t a, uint64_t b) noexcept {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr uint64_t kPrimeA = 0x9E37'79B9'7F4A'7C15;
constexpr uint64_t kPrimeB = 0xD1B5'4A32'D192'ED03;
constexpr uint64_t kPrimeC = 0xEB44'ACCA'B455'D165;

}  // namespace

uint64_t hashText(std::string_view text) noexcept {
  if (text.empty()) {
    return 0;
  }
  uint64_t hash = kPrimeA ^ text.size();
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 16; at += 16, left -= 16) {
    uint64_t words[2];
    std::memcpy(words, at, sizeof words);
    hash = mix(words[0] ^ kPrimeB, words[1] ^ hash ^ kPrimeC);
  }
  uint64_t words[2] = {};
  std::memcpy(words, at, left);
  hash = mix(words[0] ^ kPrimeB, words[1] ^ hash ^ kPrimeC);
  hash = mix(hash ^ kPrimeA, kPrimeB);
  return hash == 0 ? 1 : hash;
}

bool SeenSet::create() noexcept {
  void* memory = mmap(nullptr, kSlots * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return false;
  }
  madvise(memory, kSlots * sizeof(uint64_t), MADV_WIPEONFORK);
  m_slots.store(static_cast<std::atomic<uint64_t>*>(memory), std::memory_order_release);
  return true;
}

void SeenSet::destroy() noexcept {
  if (auto* slots = m_slots.exchange(nullptr); slots != nullptr) {
    munmap(slots, kSlots * sizeof(uint64_t));
  }
}

bool SeenSet::contains(uint64_t id) const noexcept {
  const auto* slots = m_slots.load(std::memory_order_acquire);
  if (slots == nullptr) {
    return false;
  }
  for (size_t probe = 0; probe < kLongestProbe; ++probe) {
    const uint64_t value = slots[(id + probe) % kSlots].load(std::memory_order_acquire);
    if (value == id) {
      return true;
    }
    if (value == 0) {
      return false;
    }
  }
  return false;
}

void SeenSet::insert(uint64_t id) noexcept {
  auto* slots = m_slots.load(std::memory_order_acquire);
  if (slots == nullptr) {
    return;
  }
  for (size_t probe = 0; probe < kLongestProbe; ++probe) {
    uint64_t expected = 0;
    auto& slot = slots[(id + probe) % kSlots];
    if (slot.compare_exchange_strong(expected, id, std::memory_order_acq_rel) || expected == id) {
      return;
    }
  }
}

}  // namespace plumb::agent
