// SPDX-License-Identifier: Apache-2.0
// Values by key, flat.
#pragma once
#include <cstddef>
#include <vector>

#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/sort_runs.h"

namespace plumb {

// Of several values with one key it keeps the first that was added.
template <class Key, class Value>
class FirstByKey {
 public:
  void add(Key key, Value value) { m_entries.push_back({key, value}); }
  // No more values; needed before find().
  void seal() {
    sortRuns(m_entries, [](const Entry& a, const Entry& b) { return a.key < b.key; });
  }
  // Null: none. Cheap when keys are asked for in order.
  [[nodiscard]] const Value* find(Key key) const {
    m_hint = partitionPointNear(m_entries, m_hint, [&](const Entry& entry) { return entry.key < key; });
    return m_hint < m_entries.size() && m_entries[m_hint].key == key ? &m_entries[m_hint].value : nullptr;
  }

 private:
  struct Entry {
    Key key;
    Value value;
  };
  std::vector<Entry> m_entries;
  mutable size_t m_hint = 0;
};

}  // namespace plumb
