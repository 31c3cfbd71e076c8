// SPDX-License-Identifier: Apache-2.0
// An address range with best-fit allocation: device memory, and one more for pinned host memory. Separate from malloc
// so that device memory is not mistaken for the program's own, and so that a pointer's kind is a range check.
// Thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace softcuda {

class Heap {
 public:
  static constexpr std::size_t kAlignment = 512;

  struct Block {
    std::byte* address;
    std::size_t bytes;    // as asked for
    std::uint32_t label;  // the caller's
  };

  explicit Heap(std::size_t capacity);

  void* allocate(std::size_t bytes, std::uint32_t label);  // null: not enough in one piece
  std::optional<Block> free(void* address);                // empty: nobody's address
  std::optional<Block> find(const void* address) const;    // the block that contains it
  bool contains(const void* address) const {
    return static_cast<const std::byte*>(address) >= m_base &&
           static_cast<const std::byte*>(address) < m_base + m_capacity;
  }
  std::size_t capacity() const { return m_capacity; }
  std::size_t usedBytes() const;
  std::size_t peakBytes() const;
  void releasePages();  // gives unused memory back to the system

  static std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

 private:
  void insertFree(std::byte* address, std::size_t bytes);

  std::byte* m_base = nullptr;
  std::size_t m_capacity = 0;
  mutable std::mutex m_mutex;
  std::size_t m_used = 0;
  std::size_t m_peak = 0;
  std::map<const std::byte*, Block> m_blocks;
  std::map<std::byte*, std::size_t> m_free;
  std::set<std::pair<std::size_t, std::byte*>> m_freeBySize;
};

}  // namespace softcuda
