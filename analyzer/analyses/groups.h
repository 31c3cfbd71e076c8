// SPDX-License-Identifier: Apache-2.0
// Numbers the groups of rows by up to eight columns.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace plumb {

using GroupKey = std::array<int64_t, 8>;

// Groups in the order in which they came; equal neighbours are found at once.
class Groups {
 public:
  // The group's index; true when it is new.
  std::pair<size_t, bool> find(const GroupKey& key) {
    if (!m_indexes.empty() && key == m_lastKey) return {m_last, false};
    const auto [at, isNew] = m_indexes.emplace(key, m_indexes.size());
    m_lastKey = key;
    m_last = at->second;
    return {m_last, isNew};
  }

 private:
  struct KeyHash {
    size_t operator()(const GroupKey& key) const {
      uint64_t hash = 0;
      for (const int64_t part : key) hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15u + (hash >> 31);
      return hash;
    }
  };
  std::unordered_map<GroupKey, size_t, KeyHash> m_indexes;
  GroupKey m_lastKey{};
  size_t m_last = 0;
};

}  // namespace plumb
