// SPDX-License-Identifier: Apache-2.0
// The [memory] events of one torch.profiler trace: what its allocators handed out and got back, as allocations, and
// their totals, as counters; and [allocation] of our exports, for memory that torch.profiler has no type for. As long
// as the events of an allocator come by time they are matched as they come; those of another file when all is read.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

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
    int64_t lastStart = INT64_MIN;
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

  struct Loss {
    uint64_t count = 0, firstOffset = 0;
    void note(uint64_t offset);
  };
  // What the rows of one address share.
  struct Address {
    int64_t process = 0, device = 0, address = 0, isFromPool = 0;
    std::string space;
    friend bool operator==(const Address&, const Address&) = default;
  };

  [[nodiscard]] Place& placeOf(int64_t process, int64_t type, int64_t device);
  [[nodiscard]] int64_t typeOfSpace(const std::string& space);
  [[nodiscard]] int64_t allocate(Place& place, int64_t process, const Key& key, int64_t start, int64_t bytes,
                                 uint64_t offset);
  void release(Place& place, int64_t process, const Key& key, int64_t start, int64_t bytes, uint64_t offset);
  void insertAllocation(const Place& place, int64_t process, int64_t id, int64_t start, int64_t address, int64_t bytes);
  void sample(int64_t process, int64_t start, int64_t name, int64_t value);
  // Of events that did not come by time; all are in the file.
  [[nodiscard]] Status matchAnew();
  [[nodiscard]] Status pairByTime(const std::string& ofThese);
  [[nodiscard]] Status sumAnew(int64_t process, const Place& place);
  [[nodiscard]] Status thinReserved(int64_t process, const Place& place);
  void noteUnmatched(const Address& where, int64_t bytes, uint64_t offset);

  TraceFile& m_file;
  Registry& m_registry;
  Tally& m_tally;
  ChromeStacks& m_stacks;
  std::map<std::string, int64_t> m_spaces;                // of [allocation]; the types that stand for them
  std::map<std::pair<int64_t, int64_t>, Place> m_places;  // by device type and id
  std::unordered_map<Key, int64_t, Hash> m_live;          // allocation's id
  int64_t m_firstBefore = 0;                              // id of the first allocation whose time finish() sets
  int64_t m_firstId = 0;                                  // of an allocation
  std::vector<int64_t> m_assumedFreed;                    // allocations whose end is the next one at their address
  bool m_hasComputedTotals = false;
  bool m_isDisordered = false;  // from here on nothing is matched before the end
  uint64_t m_disorderOffset = 0;
  Loss m_freeOfEarlier, m_freeMissing;
};

}  // namespace plumb::import
