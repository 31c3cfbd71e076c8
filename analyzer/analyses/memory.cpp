// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/analyses/memory_map.h"

namespace plumb {
namespace {

struct CategoryNames {
  std::string_view name, display;
};
constexpr CategoryNames kNames[kMemoryCategoryCount] = {
    {"parameter", "parameter"},   {"gradient", "gradient"}, {"optimizer_state", "optimizer state"},
    {"activation", "activation"}, {"input", "input"},       {"communication_buffer", "communication buffer"},
    {"workspace", "workspace"},   {"cached", "cached"},     {"unattributed", "unattributed"},
};

// A clock's worth of error: a region may seem to begin this much before its allocation, which another clock timed.
constexpr Duration kClockError(1'000'000);
constexpr int64_t kLargestBytes = int64_t{1} << 50;

struct Block {  // an allocation
  std::optional<DeviceId> device;
  std::string space;
  TimePoint start;
  std::optional<TimePoint> end;
  uint64_t address = 0;
  int64_t bytes = 0;
  bool fromPool = false;
};

struct Region {
  TimePoint start;
  std::optional<TimePoint> end;
  uint64_t address = 0;
  int64_t bytes = 0;
  StringId name;
  MemoryCategory category = MemoryCategory::Unattributed;
};

struct ProcessMemory {
  std::vector<Block> blocks;
  std::vector<Region> regions;
};

bool isUsable(TimePoint start, std::optional<TimePoint> end, int64_t address, int64_t bytes) {
  const bool fits =
      bytes > 0 && bytes < kLargestBytes && static_cast<uint64_t>(address) < UINT64_MAX - static_cast<uint64_t>(bytes);
  return fits && isUsableTime(start.ns(), 0) && (!end || *end >= start);
}

Status load(Trace& trace, std::map<ProcessId, ProcessMemory>& processes) {
  auto blocks = trace.query(
      "SELECT a.process_id, a.device_id, a.space, a.start_ns, f.start_ns, a.address, a.bytes, a.from_pool"
      " FROM main.allocation a LEFT JOIN main.deallocation f ON f.allocation_id = a.id ORDER BY a.id");
  if (!blocks.ok()) return blocks.error();
  while (blocks.value().next()) {
    Statement& row = blocks.value();
    Block block;
    if (!row.isNull(1)) block.device = row.id<DeviceId>(1);
    block.space = row.text(2);
    block.start = row.time(3);
    if (!row.isNull(4)) block.end = row.time(4);
    block.address = static_cast<uint64_t>(row.integer(5));
    block.bytes = row.integer(6);
    block.fromPool = row.integer(7) != 0;
    if (isUsable(block.start, block.end, row.integer(5), block.bytes)) {
      processes[row.id<ProcessId>(0)].blocks.push_back(std::move(block));
    }
  }
  if (Status status = blocks.value().status(); !status.ok()) return status;

  auto regions = trace.query(
      "SELECT r.process_id, r.start_ns, e.start_ns, r.address, r.bytes, r.name_id, r.category"
      " FROM main.memory_region r LEFT JOIN main.memory_region_end e ON e.region_id = r.id ORDER BY r.id");
  if (!regions.ok()) return regions.error();
  while (regions.value().next()) {
    Statement& row = regions.value();
    Region region;
    region.start = row.time(1);
    if (!row.isNull(2)) region.end = row.time(2);
    region.address = static_cast<uint64_t>(row.integer(3));
    region.bytes = row.integer(4);
    region.name = row.id<StringId>(5);
    region.category = memoryCategoryOf(row.text(6)).value_or(MemoryCategory::Unattributed);
    if (isUsable(region.start, region.end, row.integer(3), region.bytes)) {
      processes[row.id<ProcessId>(0)].regions.push_back(region);
    }
  }
  return regions.value().status();
}

// What happens at one moment, in this order: what ends makes room for what begins.
enum class ChangeKind : uint8_t { RegionEnd, Free, Allocate, RegionBegin };
struct Change {
  TimePoint time;
  ChangeKind kind;
  size_t index;
  friend bool operator<(const Change& a, const Change& b) {
    return std::tie(a.time, a.kind, a.index) < std::tie(b.time, b.kind, b.index);
  }
};

std::vector<Change> changesOf(const ProcessMemory& memory) {
  std::vector<Change> changes;
  for (size_t i = 0; i < memory.blocks.size(); ++i) {
    const Block& block = memory.blocks[i];
    const bool isInstant = block.end && *block.end == block.start;
    if (block.space != "device" || isInstant) continue;
    changes.push_back({block.start, ChangeKind::Allocate, i});
    if (block.end) changes.push_back({*block.end, ChangeKind::Free, i});
  }
  for (size_t i = 0; i < memory.regions.size(); ++i) {
    const Region& region = memory.regions[i];
    if (region.end && *region.end == region.start) continue;
    changes.push_back({memory.regions[i].start, ChangeKind::RegionBegin, i});
    if (memory.regions[i].end) changes.push_back({*memory.regions[i].end, ChangeKind::RegionEnd, i});
  }
  std::sort(changes.begin(), changes.end());
  return changes;
}

// Plays the changes of one process into a map of its device memory.
class Sweep {
 public:
  explicit Sweep(const ProcessMemory& memory) : m_memory(memory), m_changes(changesOf(memory)) {}

  // Calls done(time) after all changes of each moment.
  template <class Done>
  void run(Done&& done) {
    for (size_t i = 0; i < m_changes.size(); ++i) {
      apply(m_changes[i]);
      if (i + 1 == m_changes.size() || m_changes[i + 1].time != m_changes[i].time) done(m_changes[i].time);
    }
  }
  [[nodiscard]] const MemoryMap& map() const { return m_map; }
  [[nodiscard]] int64_t regionsNeverPlaced() const {
    return static_cast<int64_t>(m_memory.regions.size()) - static_cast<int64_t>(m_placed.size());
  }

 private:
  void apply(const Change& change) {
    switch (change.kind) {
      case ChangeKind::Allocate: {
        const Block& block = m_memory.blocks[change.index];
        m_map.allocate(change.index, block.address, block.bytes, block.device);
        placeWaiting(block);
        break;
      }
      case ChangeKind::Free:
        m_map.free(change.index);
        break;
      case ChangeKind::RegionBegin: {
        const Region& region = m_memory.regions[change.index];
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
  void placeWaiting(const Block& block) {
    const uint64_t end = block.address + static_cast<uint64_t>(block.bytes);
    for (auto entry = m_waiting.lower_bound(block.address); entry != m_waiting.end() && entry->first < end;) {
      const Region& region = m_memory.regions[entry->second];
      const bool isRecent = block.start - region.start <= kClockError;
      if (isRecent && m_map.declare(entry->second, region.address, region.bytes, region.category))
        m_placed.insert(entry->second);
      entry = m_waiting.erase(entry);
    }
  }

  const ProcessMemory& m_memory;
  std::vector<Change> m_changes;
  MemoryMap m_map;
  std::set<size_t> m_placed;
  std::multimap<uint64_t, size_t> m_waiting;  // by address
};

MemoryPoint pointOf(TimePoint time, const MemoryMap::Totals& totals) {
  MemoryPoint point;
  point.time = time;
  point.totalBytes = totals.allocatedBytes;
  point.bytes = totals.declaredBytes;
  int64_t declared = 0;
  for (const int64_t bytes : totals.declaredBytes) declared += bytes;
  // Regions that were declared 'unattributed' stay in that category too.
  point.bytes[static_cast<size_t>(MemoryCategory::Unattributed)] += totals.allocatedBytes - declared;
  return point;
}

bool isHigher(const MemoryPoint& point, const MemoryPoint& peak) {
  constexpr auto kUndeclared = static_cast<size_t>(MemoryCategory::Unattributed);
  if (point.totalBytes != peak.totalBytes) return point.totalBytes > peak.totalBytes;
  return point.bytes[kUndeclared] < peak.bytes[kUndeclared];
}

std::vector<LiveMemory> liveIn(Trace& trace, const ProcessMemory& memory, const MemoryMap& map,
                               std::optional<DeviceId> device) {
  std::vector<LiveMemory> live;
  std::map<size_t, size_t> entryOfRegion;
  std::map<size_t, int64_t> undeclared;  // by block
  map.forEachPiece(device, [&](size_t block, std::optional<size_t> region, uint64_t address, int64_t bytes) {
    if (!region) {
      undeclared[block] += bytes;
      return;
    }
    const auto [entry, isNew] = entryOfRegion.try_emplace(*region, live.size());
    if (isNew) {
      const Region& r = memory.regions[*region];
      live.push_back({std::string(trace.text(r.name)), r.category, address, 0, r.start});
    }
    live[entry->second].bytes += bytes;
  });
  for (const auto& [block, bytes] : undeclared) {
    live.push_back({"", MemoryCategory::Unattributed, memory.blocks[block].address, bytes, memory.blocks[block].start});
  }
  std::stable_sort(live.begin(), live.end(),
                   [](const LiveMemory& a, const LiveMemory& b) { return a.bytes > b.bytes; });
  return live;
}

std::vector<DeviceMemory> analyzeProcess(Trace& trace, ProcessId id, const ProcessMemory& memory, int64_t& outside) {
  std::map<std::optional<DeviceId>, DeviceMemory> devices;
  for (const Block& block : memory.blocks) {
    if (block.space != "device") continue;
    DeviceMemory& device = devices[block.device];
    ++device.allocationCount;
    device.hasPool |= block.fromPool;
  }
  Sweep sweep(memory);
  sweep.run([&](TimePoint time) {
    for (auto& [deviceId, device] : devices) {
      const MemoryMap::Totals* totals = sweep.map().totals(deviceId);
      if (!totals) continue;
      const MemoryPoint point = pointOf(time, *totals);
      if (!device.points.empty() && device.points.back().bytes == point.bytes) continue;
      device.points.push_back(point);
      if (isHigher(point, device.peak)) device.peak = point;
      const int64_t cached = point.bytes[static_cast<size_t>(MemoryCategory::Cached)];
      device.allocatedPeakBytes = std::max(device.allocatedPeakBytes, point.totalBytes - cached);
      device.hasDeclarations |= point.bytes[static_cast<size_t>(MemoryCategory::Unattributed)] != point.totalBytes;
    }
  });
  outside += sweep.regionsNeverPlaced();

  // A second time, to stop and look at each peak.
  Sweep again(memory);
  again.run([&](TimePoint time) {
    for (auto& [deviceId, device] : devices) {
      if (device.peak.time == time && device.peak.totalBytes > 0)
        device.liveAtPeak = liveIn(trace, memory, again.map(), deviceId);
    }
  });

  const Process* process = trace.process(id);
  std::vector<DeviceMemory> result;
  for (auto& [deviceId, device] : devices) {
    device.process = id;
    device.device = deviceId;
    if (process) device.rank = process->rank;
    if (!device.hasPool) device.reservedPeakBytes = device.peak.totalBytes;
    if (process && process->end && !device.points.empty() && device.points.back().time < *process->end) {
      device.points.push_back(device.points.back());
      device.points.back().time = *process->end;
    }
    result.push_back(std::move(device));
  }
  return result;
}

std::vector<SpacePeak> peaksOfOtherSpaces(const ProcessMemory& memory) {
  struct Step {
    TimePoint time;
    int64_t bytes;
  };
  std::map<std::string, std::vector<Step>> spaces;
  for (const Block& block : memory.blocks) {
    if (block.space == "device") continue;
    spaces[block.space].push_back({block.start, block.bytes});
    if (block.end) spaces[block.space].push_back({*block.end, -block.bytes});
  }
  std::vector<SpacePeak> peaks;
  for (auto& [space, steps] : spaces) {
    std::sort(steps.begin(), steps.end(),
              [](const Step& a, const Step& b) { return std::tie(a.time, a.bytes) < std::tie(b.time, b.bytes); });
    SpacePeak peak{space, 0, {}};
    int64_t now = 0;
    for (const Step& step : steps) {
      now += step.bytes;
      if (now > peak.peakBytes) {
        peak.peakBytes = now;
        peak.peakTime = step.time;
      }
    }
    peaks.push_back(std::move(peak));
  }
  return peaks;
}

}  // namespace

std::string_view nameOf(MemoryCategory category) { return kNames[static_cast<size_t>(category)].name; }
std::string_view displayNameOf(MemoryCategory category) { return kNames[static_cast<size_t>(category)].display; }

std::optional<MemoryCategory> memoryCategoryOf(std::string_view name) {
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
    if (kNames[i].name == name) return static_cast<MemoryCategory>(i);
  }
  return std::nullopt;
}

Result<MemoryAnalysis> analyzeMemory(Trace& trace) {
  std::map<ProcessId, ProcessMemory> processes;
  if (const Status loaded = load(trace, processes); !loaded.ok()) return loaded.error();
  MemoryAnalysis result;
  for (const auto& [id, memory] : processes) {
    for (DeviceMemory& device : analyzeProcess(trace, id, memory, result.regionsOutsideAllocations)) {
      result.devices.push_back(std::move(device));
    }
    auto spaces = peaksOfOtherSpaces(memory);
    if (!spaces.empty()) result.otherSpaces.push_back({id, std::move(spaces)});
  }
  std::stable_sort(result.devices.begin(), result.devices.end(), [](const DeviceMemory& a, const DeviceMemory& b) {
    return std::make_tuple(!a.rank, a.rank.value_or(0), a.process, a.device) <
           std::make_tuple(!b.rank, b.rank.value_or(0), b.process, b.device);
  });
  return result;
}

}  // namespace plumb
