// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/buffer_pool.h"

#include <sys/mman.h>

#include <cstring>

namespace plumb::cupti {
namespace {

uint8_t* mapBytes(size_t bytes, int flags) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

}  // namespace

bool BufferPool::reserve(size_t blocks) noexcept {
  blocks = blocks < 1 ? 1 : blocks > kMaxBlocks ? kMaxBlocks : blocks;
  m_memory = mapBytes(blocks * kBlockBytes, MAP_NORESERVE);
  m_blocks = m_memory ? blocks : 0;
  return m_memory != nullptr;
}

uint8_t* BufferPool::take() noexcept {
  // A released block is likely to be warm, and low blocks keep the resident size small: search from the start.
  for (size_t i = 0; i < m_blocks; ++i) {
    uint8_t expected = kFree;
    if (m_states[i].load(std::memory_order_relaxed) == kFree &&
        m_states[i].compare_exchange_strong(expected, kTaken, std::memory_order_acq_rel)) {
      m_taken.fetch_add(1, std::memory_order_relaxed);
      return m_memory + i * kBlockBytes;
    }
  }
  return nullptr;
}

uint8_t* BufferPool::takeBeyondCap() noexcept { return mapBytes(kBlockBytes, 0); }

size_t BufferPool::indexOf(const uint8_t* block) const noexcept {
  if (!m_memory || block < m_memory || block >= m_memory + m_blocks * kBlockBytes) {
    return kMaxBlocks;
  }
  return static_cast<size_t>(block - m_memory) / kBlockBytes;
}

bool BufferPool::claim(const uint8_t* block) noexcept {
  const size_t index = indexOf(block);
  if (index == kMaxBlocks) {
    return true;  // beyond the cap: not tracked
  }
  uint8_t expected = kTaken;
  return m_states[index].compare_exchange_strong(expected, kClaimed, std::memory_order_acq_rel);
}

void BufferPool::giveBack(uint8_t* block, size_t usedBytes) noexcept {
  const size_t index = indexOf(block);
  if (index == kMaxBlocks) {
    munmap(block, kBlockBytes);
    return;
  }
  memset(block, 0, usedBytes < kBlockBytes ? usedBytes : kBlockBytes);
  m_taken.fetch_sub(1, std::memory_order_relaxed);
  m_states[index].store(kFree, std::memory_order_release);
}

}  // namespace plumb::cupti
