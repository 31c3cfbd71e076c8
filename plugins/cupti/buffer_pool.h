// SPDX-License-Identifier: Apache-2.0
// The memory that CUPTI writes activity records into. One mapping, reserved once, handed out in blocks: after reserve()
// nothing is allocated, no lock is taken, and the total is capped. All functions may be called from any thread.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plumb::cupti {

class BufferPool {
 public:
  static constexpr size_t kBlockBytes = size_t{1} << 20;
  static constexpr size_t kMaxBlocks = 1024;

  // Reserves address space for `blocks` zeroed blocks (at most kMaxBlocks); memory is used only as it is written.
  bool reserve(size_t blocks) noexcept;

  // A zeroed block of kBlockBytes, or NULL when all are out.
  uint8_t* take() noexcept;

  // A block beyond the cap, for CUPTI versions that crash when they get none. NULL if the system has no memory.
  uint8_t* takeBeyondCap() noexcept;

  // The first of two steps of the way back: true exactly once for each time the block was taken, so that a block that
  // is delivered twice is read once.
  bool claim(const uint8_t* block) noexcept;

  // The second: clears the bytes that were written and makes the block available.
  void giveBack(uint8_t* block, size_t usedBytes) noexcept;

  // Blocks that are out now.
  [[nodiscard]] size_t takenBlocks() const noexcept { return m_taken.load(std::memory_order_relaxed); }

 private:
  enum State : uint8_t { kFree = 0, kTaken, kClaimed };
  [[nodiscard]] size_t indexOf(const uint8_t* block) const noexcept;

  uint8_t* m_memory = nullptr;
  size_t m_blocks = 0;
  std::atomic<size_t> m_taken{0};
  std::atomic<uint8_t> m_states[kMaxBlocks]{};
};

}  // namespace plumb::cupti
