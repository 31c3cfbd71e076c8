// SPDX-License-Identifier: Apache-2.0
// The [memory] events of one torch.profiler trace: what its allocators handed out and got back, as allocations, and
// their totals, as counters; and [allocation] of our exports, for memory that torch.profiler has no type for.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/import/chrome_event.h"
#include "analyzer/import/chrome_export_rows.h"
#include "analyzer/import/registry.h"
#include "analyzer/import/tally.h"
#include "analyzer/import/trace_file.h"
#include "collector/schema/result.h"

namespace plumb::import {

class ChromeMemory {
 public:
  ChromeMemory(TraceFile& file, Registry& registry, Tally& tally, ChromeStacks& stacks)
      : m_file(file), m_registry(registry), m_tally(tally), m_stacks(stacks) {}

  // The totals of [memory] events are sums over them, and no counters.
  void setComputedTotals(bool areComputed) { m_hasComputedTotals = areComputed; }
  void add(const ChromeEvent& event, int64_t process, int64_t start, uint64_t offset);
  // No more events: what was live before the first of them is live since firstNs.
  [[nodiscard]] Status finish(int64_t process, int64_t firstNs);

 private:
  struct Place {  // one allocator
    std::optional<int64_t> device;
    std::string space = "device";
    bool isFromPool = true;
    int64_t allocatedName = 0, reservedName = 0, changeName = 0;  // texts of the counters
    std::optional<int64_t> firstStart, liveBefore;                // as the first event's total says
    std::optional<int64_t> lastReserved;
    int64_t freedOfBefore = 0;
    int64_t change = 0;  // of all events so far
  };
  struct Key {
    int64_t place, address;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept { return std::hash<int64_t>{}(key.address ^ key.place << 48); }
  };

  [[nodiscard]] Place& placeOf(int64_t process, int64_t type, int64_t device);
  [[nodiscard]] int64_t typeOfSpace(const std::string& space);
  [[nodiscard]] int64_t allocate(Place& place, int64_t process, const Key& key, int64_t start, int64_t bytes,
                                 uint64_t offset);
  void release(Place& place, int64_t process, const Key& key, int64_t start, int64_t bytes, uint64_t offset);
  void insertAllocation(const Place& place, int64_t process, int64_t id, int64_t start, int64_t address, int64_t bytes);
  void sample(int64_t process, int64_t start, int64_t name, int64_t value);

  TraceFile& m_file;
  Registry& m_registry;
  Tally& m_tally;
  ChromeStacks& m_stacks;
  std::map<std::string, int64_t> m_spaces;                // of [allocation]; the types that stand for them
  std::map<std::pair<int64_t, int64_t>, Place> m_places;  // by device type and id
  std::unordered_map<Key, int64_t, Hash> m_live;          // allocation's id
  bool m_hasComputedTotals = false;
  int64_t m_firstBefore = 0;  // id of the first allocation whose time finish() sets
};

}  // namespace plumb::import
