// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_history.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

// A clock's worth of error: a region may seem to begin this much before its allocation, which another clock timed.
constexpr Duration kClockError(1'000'000);
constexpr int64_t kLargestBytes = int64_t{1} << 50;
// Where blocks without an address are put, apart from each other and from all others.
constexpr uint64_t kNowhere = uint64_t{1} << 62;
constexpr uint64_t kNowhereStep = uint64_t{1} << 51;

bool isUsable(TimePoint start, std::optional<TimePoint> end, int64_t address, int64_t bytes) {
  const bool fits =
      bytes > 0 && bytes < kLargestBytes && static_cast<uint64_t>(address) < UINT64_MAX - static_cast<uint64_t>(bytes);
  return fits && isUsableTime(start.ns(), 0) && (!end || *end >= start);
}

class Loader {
 public:
  Loader(Trace& trace, std::optional<int64_t> rank) : m_trace(trace), m_rank(rank) {}

  Status loadBlocks() {
    auto rows = m_trace.query(
        "SELECT a.process_id, a.device_id, a.space, a.start_ns, f.start_ns, a.address, a.bytes, a.from_pool, a.id,"
        " k.name_id FROM main.allocation a LEFT JOIN main.deallocation f ON f.allocation_id = a.id"
        " LEFT JOIN allocation_detail d ON d.allocation_id = a.id LEFT JOIN stack k ON k.id = d.stack_id"
        " ORDER BY a.id");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      ProcessMemory* memory = memoryOf(row.id<ProcessId>(0));
      if (!memory) continue;
      MemoryBlock block;
      if (!row.isNull(1)) block.device = row.id<DeviceId>(1);
      block.start = row.time(3);
      if (!row.isNull(4)) block.end = row.time(4);
      block.bytes = row.integer(6);
      if (!isUsable(block.start, block.end, row.integer(5), block.bytes)) continue;
      block.space = spaceOf(*memory, row.text(2));
      block.address = static_cast<uint64_t>(row.integer(5));
      block.isLump = block.address == 0;
      if (block.isLump) block.address = kNowhere + kNowhereStep * (m_lumps++ % 1024);
      block.fromPool = row.integer(7) != 0;
      block.id = row.id<AllocationId>(8);
      if (!row.isNull(9)) block.place = row.id<StringId>(9);
      memory->blocks.push_back(block);
    }
    return row.status();
  }

  Status loadRegions() {
    auto rows = m_trace.query(
        "SELECT r.process_id, r.start_ns, e.start_ns, r.address, r.bytes, r.name_id, r.category"
        " FROM main.memory_region r LEFT JOIN main.memory_region_end e ON e.region_id = r.id ORDER BY r.id");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      ProcessMemory* memory = memoryOf(row.id<ProcessId>(0));
      if (!memory) continue;
      MemoryRegion region;
      region.start = row.time(1);
      if (!row.isNull(2)) region.end = row.time(2);
      region.address = static_cast<uint64_t>(row.integer(3));
      region.bytes = row.integer(4);
      region.name = row.id<StringId>(5);
      region.category = memoryCategoryOf(row.text(6)).value_or(MemoryCategory::Unattributed);
      if (isUsable(region.start, region.end, row.integer(3), region.bytes)) memory->regions.push_back(region);
    }
    return row.status();
  }

  std::vector<ProcessMemory> finish() {
    std::vector<ProcessMemory> result;
    for (auto& [id, memory] : m_processes) {
      if (memory.blocks.empty() && memory.regions.empty()) continue;
      nameBlocks(memory);
      result.push_back(std::move(memory));
    }
    std::ranges::stable_sort(result, {}, [](const ProcessMemory& memory) {
      return std::make_tuple(!memory.rank, memory.rank.value_or(0), memory.process);
    });
    return result;
  }

 private:
  // Null for a process that is left out.
  ProcessMemory* memoryOf(ProcessId id) {
    if (m_last && m_last->process == id) return m_last;
    const Process* process = m_trace.process(id);
    if (m_rank && (!process || process->rank != m_rank)) return nullptr;
    ProcessMemory& memory = m_processes[id];
    memory.process = id;
    if (process) memory.rank = process->rank;
    m_last = &memory;
    return m_last;
  }

  static uint32_t spaceOf(ProcessMemory& memory, std::string_view space) {
    const auto known = std::ranges::find(memory.spaces, space);
    const auto index = static_cast<uint32_t>(known - memory.spaces.begin());
    constexpr uint32_t kMostSpaces = 64;
    if (known == memory.spaces.end()) {
      if (index >= kMostSpaces) return kMostSpaces - 1;
      memory.spaces.emplace_back(space);
    }
    return index;
  }

  static void nameBlocks(ProcessMemory& memory) {
    std::vector<size_t> order(memory.regions.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](size_t i) { return std::pair(memory.regions[i].address, memory.regions[i].start); };
    std::ranges::sort(order, {}, key);
    for (MemoryBlock& block : memory.blocks) {
      const auto first = std::ranges::lower_bound(order, std::pair(block.address, block.start - kClockError), {}, key);
      if (first == order.end() || memory.regions[*first].address != block.address) continue;
      MemoryRegion& region = memory.regions[*first];
      if (block.end && region.start >= *block.end) continue;
      block.region = *first;
      // Its name comes a moment after the allocation and goes a moment before it: it is what it is all its life.
      if (region.bytes != block.bytes) continue;
      region.start = std::min(region.start, block.start);
      const auto next = std::next(first);
      const bool isRenamed = block.end && next != order.end() && memory.regions[*next].address == block.address &&
                             memory.regions[*next].start < *block.end;
      if (block.end && region.end && !isRenamed) region.end = std::max(*region.end, *block.end);
    }
  }

  Trace& m_trace;
  std::optional<int64_t> m_rank;
  std::map<ProcessId, ProcessMemory> m_processes;
  ProcessMemory* m_last = nullptr;
  uint64_t m_lumps = 0;
};

MemoryState stateOf(TimePoint time, const MemoryMap::Totals& totals) {
  MemoryState state;
  state.time = time;
  state.totalBytes = totals.allocatedBytes;
  state.bytes = totals.declaredBytes;
  state.inferred = totals.inferredBytes;
  // Regions that were declared 'unattributed' stay in that category too.
  int64_t& unattributed = state.bytes[static_cast<size_t>(MemoryCategory::Unattributed)];
  for (const int64_t bytes : totals.inferredBytes) unattributed += bytes;
  return state;
}

}  // namespace

Result<std::vector<ProcessMemory>> loadMemory(Trace& trace, std::optional<int64_t> rank) {
  Loader loader(trace, rank);
  if (const Status loaded = loader.loadBlocks(); !loaded.ok()) return loaded.error();
  if (const Status loaded = loader.loadRegions(); !loaded.ok()) return loaded.error();
  return loader.finish();
}

MemorySweep::MemorySweep(const ProcessMemory& memory) : m_memory(memory), m_changes(changesOf(memory)) {}

std::vector<MemorySweep::Change> MemorySweep::changesOf(const ProcessMemory& memory) {
  std::vector<Change> changes;
  for (size_t i = 0; i < memory.blocks.size(); ++i) {
    const MemoryBlock& block = memory.blocks[i];
    const bool isInstant = block.end && *block.end == block.start;
    if (!block.isOnDevice() || isInstant) continue;
    changes.push_back({block.start, ChangeKind::Allocate, i});
    if (block.end) changes.push_back({*block.end, ChangeKind::Free, i});
  }
  for (size_t i = 0; i < memory.regions.size(); ++i) {
    const MemoryRegion& region = memory.regions[i];
    if (region.end && *region.end == region.start) continue;
    changes.push_back({region.start, ChangeKind::RegionBegin, i});
    if (region.end) changes.push_back({*region.end, ChangeKind::RegionEnd, i});
  }
  std::ranges::sort(changes, {},
                    [](const Change& change) { return std::tuple(change.time, change.kind, change.index); });
  return changes;
}

void MemorySweep::run(const std::function<void(TimePoint)>& before, const std::function<void(TimePoint)>& after) {
  for (size_t i = 0; i < m_changes.size(); ++i) {
    const TimePoint time = m_changes[i].time;
    if (i == 0 || m_changes[i - 1].time != time) before(time);
    apply(m_changes[i]);
    if (i + 1 == m_changes.size() || m_changes[i + 1].time != time) after(time);
  }
}

int64_t MemorySweep::regionsNeverPlaced() const {
  return static_cast<int64_t>(m_memory.regions.size()) - static_cast<int64_t>(m_placed.size());
}

void MemorySweep::apply(const Change& change) {
  switch (change.kind) {
    case ChangeKind::Allocate: {
      const MemoryBlock& block = m_memory.blocks[change.index];
      m_map.allocate(change.index, block.address, block.bytes, block.device, block.inferred);
      placeWaiting(block);
      break;
    }
    case ChangeKind::Free:
      m_map.free(change.index);
      break;
    case ChangeKind::RegionBegin: {
      const MemoryRegion& region = m_memory.regions[change.index];
      if (m_map.declare(change.index, region.address, region.bytes, region.category)) {
        m_placed.insert(change.index);
      } else {
        m_waiting.emplace(region.address, change.index);
      }
      break;
    }
    case ChangeKind::RegionEnd: {
      m_map.undeclare(change.index);
      const auto [first, last] = m_waiting.equal_range(m_memory.regions[change.index].address);
      const auto mine = std::find_if(first, last, [&](const auto& entry) { return entry.second == change.index; });
      if (mine != last) m_waiting.erase(mine);
      break;
    }
  }
}

// Regions that were declared a moment before the record of the allocation that holds them.
void MemorySweep::placeWaiting(const MemoryBlock& block) {
  const uint64_t end = block.address + static_cast<uint64_t>(block.bytes);
  for (auto entry = m_waiting.lower_bound(block.address); entry != m_waiting.end() && entry->first < end;) {
    const MemoryRegion& region = m_memory.regions[entry->second];
    const bool isRecent = block.start - region.start <= kClockError;
    if (isRecent && m_map.declare(entry->second, region.address, region.bytes, region.category))
      m_placed.insert(entry->second);
    entry = m_waiting.erase(entry);
  }
}

std::vector<std::optional<DeviceId>> devicesOf(const ProcessMemory& memory) {
  std::set<std::optional<DeviceId>> devices;
  for (const MemoryBlock& block : memory.blocks) {
    if (block.isOnDevice()) devices.insert(block.device);
  }
  return {devices.begin(), devices.end()};
}

void walkMemory(MemorySweep& sweep, const std::vector<std::optional<DeviceId>>& devices, const IntervalSet& windows,
                const TakeMemoryState& take) {
  const std::vector<Interval>& parts = windows.parts();
  size_t part = 0;
  bool isOpen = false;  // the state at the part's start was taken
  std::vector<std::optional<MemoryState>> last(devices.size());
  const auto takeAt = [&](TimePoint time, bool always) {
    for (size_t i = 0; i < devices.size(); ++i) {
      const MemoryMap::Totals* totals = sweep.map().totals(devices[i]);
      if (!totals) continue;
      const MemoryState state = stateOf(time, *totals);
      if (!always && last[i] && last[i]->bytes == state.bytes && last[i]->inferred == state.inferred) continue;
      last[i] = state;
      take(devices[i], state);
    }
  };
  const auto before = [&](TimePoint time) {
    for (; part < parts.size(); ++part, isOpen = false) {
      if (!isOpen && parts[part].start < time) {
        takeAt(parts[part].start, true);
        isOpen = true;
      }
      if (parts[part].end > time) return;
    }
  };
  sweep.run(before, [&](TimePoint time) {
    if (part >= parts.size() || !parts[part].contains(time)) return;
    takeAt(time, !isOpen);
    isOpen = true;
  });
  before(kAllTime.end);
}

}  // namespace plumb
