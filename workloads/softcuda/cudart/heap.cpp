// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/heap.h"

#include <sys/mman.h>

#include <algorithm>

namespace softcuda {

Heap::Heap(std::size_t capacity) {
  // Only reserved: pages come when they are written. A strict overcommit policy may refuse so much; then less must do.
  for (capacity &= ~(kAlignment - 1); capacity >= kAlignment; capacity = capacity / 2 & ~(kAlignment - 1)) {
    void* memory = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    // As on a GPU, whose pages are 2 MiB: a CPU reads memory about twice as fast that way. Without them it works too.
    madvise(memory, capacity, MADV_HUGEPAGE);
    m_base = static_cast<std::byte*>(memory);
    m_capacity = capacity;
    insertFree(m_base, capacity);
    return;
  }
}

void Heap::insertFree(std::byte* address, std::size_t bytes) {
  m_free.emplace(address, bytes);
  m_freeBySize.emplace(bytes, address);
}

void* Heap::allocate(std::size_t bytes, std::uint32_t label) {
  if (bytes > m_capacity) return nullptr;
  const std::size_t size = std::max(rounded(bytes), kAlignment);
  std::lock_guard lock(m_mutex);
  const auto fit = m_freeBySize.lower_bound({size, nullptr});
  if (fit == m_freeBySize.end()) return nullptr;
  const auto [available, address] = *fit;
  m_freeBySize.erase(fit);
  m_free.erase(address);
  if (available > size) insertFree(address + size, available - size);
  m_blocks.emplace(address, Block{address, bytes, label});
  m_used += size;
  m_peak = std::max(m_peak, m_used);
  return address;
}

std::optional<Heap::Block> Heap::free(void* address) {
  std::lock_guard lock(m_mutex);
  const auto found = m_blocks.find(static_cast<std::byte*>(address));
  if (found == m_blocks.end()) return std::nullopt;
  const Block block = found->second;
  m_blocks.erase(found);
  std::size_t size = std::max(rounded(block.bytes), kAlignment);
  m_used -= size;
  std::byte* start = block.address;
  auto after = m_free.lower_bound(start);
  if (after != m_free.end() && after->first == start + size) {
    size += after->second;
    m_freeBySize.erase({after->second, after->first});
    after = m_free.erase(after);
  }
  if (after != m_free.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == start) {
      start = before->first;
      size += before->second;
      m_freeBySize.erase({before->second, before->first});
      m_free.erase(before);
    }
  }
  insertFree(start, size);
  return block;
}

std::optional<Heap::Block> Heap::find(const void* address) const {
  if (!contains(address)) return std::nullopt;
  std::lock_guard lock(m_mutex);
  auto after = m_blocks.upper_bound(static_cast<const std::byte*>(address));
  if (after == m_blocks.begin()) return std::nullopt;
  const Block& block = std::prev(after)->second;
  if (static_cast<const std::byte*>(address) >= block.address + std::max<std::size_t>(block.bytes, 1))
    return std::nullopt;
  return block;
}

std::size_t Heap::usedBytes() const {
  std::lock_guard lock(m_mutex);
  return m_used;
}

std::size_t Heap::peakBytes() const {
  std::lock_guard lock(m_mutex);
  return m_peak;
}

void Heap::releasePages() {
  std::lock_guard lock(m_mutex);
  for (const auto& [address, bytes] : m_free) {
    const auto first = (reinterpret_cast<std::uintptr_t>(address) + 4095) & ~std::uintptr_t{4095};
    const auto end = (reinterpret_cast<std::uintptr_t>(address) + bytes) & ~std::uintptr_t{4095};
    if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
  }
}

}  // namespace softcuda
