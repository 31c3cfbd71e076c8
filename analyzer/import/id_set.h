// SPDX-License-Identifier: Apache-2.0
// A set of ids that a counter gave: near each other, so that most take a bit.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace plumb::import {

class IdSet {
 public:
  // Whether it was not there.
  bool insert(int64_t id) {
    uint64_t& word = m_blocks[id >> kBlockBits][wordOf(id)];
    const bool isNew = (word & bitOf(id)) == 0;
    word |= bitOf(id);
    return isNew;
  }
  [[nodiscard]] bool contains(int64_t id) const {
    const auto found = m_blocks.find(id >> kBlockBits);
    return found != m_blocks.end() && (found->second[wordOf(id)] & bitOf(id)) != 0;
  }
  [[nodiscard]] bool empty() const noexcept { return m_blocks.empty(); }

 private:
  static constexpr int kBlockBits = 9, kWordBits = 6;
  static constexpr size_t kWords = size_t{1} << (kBlockBits - kWordBits);
  using Block = std::array<uint64_t, kWords>;

  static size_t wordOf(int64_t id) { return static_cast<uint64_t>(id) >> kWordBits & (kWords - 1); }
  static uint64_t bitOf(int64_t id) { return uint64_t{1} << (static_cast<uint64_t>(id) & 63); }

  std::unordered_map<int64_t, Block> m_blocks;
};

}  // namespace plumb::import
