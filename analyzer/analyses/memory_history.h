// SPDX-License-Identifier: Apache-2.0
// The allocations and declared regions of a process, and their replay in order of time. What memory analyses start
// from.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/analyses/memory.h"
#include "analyzer/analyses/memory_map.h"
#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// An allocation of space 'device', or of another one.
struct MemoryBlock {
  AllocationId id;
  std::optional<DeviceId> device;
  uint32_t space = 0;  // index into ProcessMemory::spaces; 0: 'device'
  TimePoint start;
  std::optional<TimePoint> end;
  uint64_t address = 0;
  int64_t bytes = 0;
  bool fromPool = false;
  bool isLump = false;  // stands for many allocations whose addresses are not known
  MemoryCategory inferred = MemoryCategory::Unattributed;
  StringId place;                // who allocated it; 0: not known
  std::optional<size_t> region;  // the declared one at its address, the first in its life

  [[nodiscard]] bool isOnDevice() const { return space == 0; }
};

struct MemoryRegion {
  TimePoint start;
  std::optional<TimePoint> end;
  uint64_t address = 0;
  int64_t bytes = 0;
  StringId name;
  MemoryCategory category = MemoryCategory::Unattributed;
};

struct ProcessMemory {
  ProcessId process;
  std::optional<int64_t> rank;
  std::vector<std::string> spaces = {"device"};
  std::vector<MemoryBlock> blocks;
  std::vector<MemoryRegion> regions;
};

// In order of rank; processes without allocations are left out, and so are rows that cannot be true. `rank` limits it
// to one rank. Blocks know their regions; their inferred categories are set by inferCategories (memory_inference.h).
[[nodiscard]] Result<std::vector<ProcessMemory>> loadMemory(Trace& trace, std::optional<int64_t> rank = {});

// Plays the device memory of one process.
class MemorySweep {
 public:
  explicit MemorySweep(const ProcessMemory& memory);

  // before(time) is called before the changes of each moment, after(time) when all are made.
  void run(const std::function<void(TimePoint)>& before, const std::function<void(TimePoint)>& after);
  [[nodiscard]] const MemoryMap& map() const { return m_map; }
  [[nodiscard]] int64_t regionsNeverPlaced() const;  // in no device allocation

 private:
  // What happens at one moment, in this order: what ends makes room for what begins.
  enum class ChangeKind : uint8_t { RegionEnd, Free, Allocate, RegionBegin };
  struct Change {
    TimePoint time;
    ChangeKind kind;
    size_t index;
  };
  static std::vector<Change> changesOf(const ProcessMemory& memory);
  void apply(const Change& change);
  void placeWaiting(const MemoryBlock& block);

  const ProcessMemory& m_memory;
  std::vector<Change> m_changes;
  MemoryMap m_map;
  std::unordered_set<size_t> m_placed;
  std::multimap<uint64_t, size_t> m_waiting;  // by address
};

// Calls take for each device at every moment inside the windows at which its memory changes, and at each window's
// start.
using TakeMemoryState = std::function<void(std::optional<DeviceId>, const MemoryState&)>;
void walkMemory(MemorySweep& sweep, const std::vector<std::optional<DeviceId>>& devices, const IntervalSet& windows,
                const TakeMemoryState& take);
// Devices with an allocation, in order.
[[nodiscard]] std::vector<std::optional<DeviceId>> devicesOf(const ProcessMemory& memory);

}  // namespace plumb
