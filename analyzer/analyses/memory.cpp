// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/memory_history.h"
#include "analyzer/analyses/memory_inference.h"
#include "analyzer/analyses/memory_places.h"
#include "analyzer/analyses/windows.h"

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

bool isHigher(const MemoryPoint& point, const MemoryPoint& peak) {
  constexpr auto kUndeclared = static_cast<size_t>(MemoryCategory::Unattributed);
  if (point.totalBytes != peak.totalBytes) return point.totalBytes > peak.totalBytes;
  return point.bytes[kUndeclared] < peak.bytes[kUndeclared];
}

std::vector<LiveMemory> liveIn(Trace& trace, const ProcessMemory& memory, const MemoryMap& map,
                               std::optional<DeviceId> device) {
  std::vector<LiveMemory> live;
  std::unordered_map<size_t, size_t> entryOfRegion;
  std::map<size_t, int64_t> undeclared;  // by block
  map.forEachPiece(device, [&](size_t block, std::optional<size_t> region, uint64_t address, int64_t bytes) {
    if (!region) {
      undeclared[block] += bytes;
      return;
    }
    const auto [entry, isNew] = entryOfRegion.try_emplace(*region, live.size());
    if (isNew) {
      const MemoryRegion& r = memory.regions[*region];
      const bool isDeclared = r.category != MemoryCategory::Unattributed;
      live.push_back({std::string(trace.text(r.name)), r.category, isDeclared, address, 0, r.start, r.end});
    }
    LiveMemory& one = live[entry->second];
    one.bytes += bytes;
    // A region ends with the memory that it lies in.
    if (const auto& end = memory.blocks[block].end; end && (!one.until || *end < *one.until)) one.until = end;
  });
  for (const auto& [index, bytes] : undeclared) {
    const MemoryBlock& block = memory.blocks[index];
    live.push_back({std::string(trace.text(block.place)), block.inferred, false, block.isLump ? 0 : block.address,
                    bytes, block.start, block.end});
  }
  std::ranges::stable_sort(live, std::greater{}, &LiveMemory::bytes);
  return live;
}

// The largest sum of a space inside the window, of all memory or of one device's.
SpacePeak peakOfSpace(const ProcessMemory& memory, uint32_t space, const IntervalSet& window,
                      std::optional<std::optional<DeviceId>> device) {
  struct Step {
    TimePoint time;
    int64_t bytes;
  };
  std::vector<Step> steps;
  for (const MemoryBlock& block : memory.blocks) {
    if (block.space != space || (device && block.device != *device)) continue;
    steps.push_back({block.start, block.bytes});
    if (block.end) steps.push_back({*block.end, -block.bytes});
  }
  // At one moment what ends makes room for what begins.
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return std::pair(a.time, a.bytes) < std::pair(b.time, b.bytes); });
  SpacePeak peak{memory.spaces[space], 0, {}, device.value_or(std::nullopt)};
  int64_t now = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    now += steps[i].bytes;
    if (now <= peak.peakBytes) continue;
    const TimePoint until = i + 1 < steps.size() ? steps[i + 1].time : kAllTime.end;
    const bool isInWindow = window.contains(steps[i].time) || window.lengthWithin({steps[i].time, until}).ns() > 0;
    if (!isInWindow) continue;
    peak.peakBytes = now;
    peak.peakTime = steps[i].time;
  }
  return peak;
}

std::vector<SpacePeak> peaksOfOtherSpaces(const ProcessMemory& memory, const IntervalSet& window) {
  std::vector<SpacePeak> peaks;
  for (uint32_t space = 1; space < memory.spaces.size(); ++space) {
    // What an allocator holds on one device is of no use on another.
    const bool isOfDevices = memory.spaces[space] == "reserved" || memory.spaces[space] == "pending_free";
    std::set<std::optional<std::optional<DeviceId>>> devices;
    for (const MemoryBlock& block : memory.blocks) {
      if (block.space == space) devices.insert(isOfDevices ? std::optional(block.device) : std::nullopt);
    }
    for (const auto& device : devices) {
      SpacePeak peak = peakOfSpace(memory, space, window, device);
      if (peak.peakBytes > 0) peaks.push_back(std::move(peak));
    }
  }
  return peaks;
}

// The devices of one process while its memory is played.
class ProcessAnalysis {
 public:
  ProcessAnalysis(Trace& trace, const ProcessMemory& memory, const IntervalSet& window, MemoryDetail detail)
      : m_trace(trace), m_memory(memory), m_window(window), m_detail(detail), m_ids(devicesOf(memory)) {
    for (const MemoryBlock& block : memory.blocks) {
      if (!block.isOnDevice()) continue;
      DeviceMemory& device = m_devices[block.device];
      ++device.allocationCount;
      device.hasPool |= block.fromPool;
    }
  }

  void findPeaks(int64_t& outside) {
    MemorySweep sweep(m_memory);
    walkMemory(sweep, m_ids, m_window, [&](std::optional<DeviceId> id, const MemoryState& state) {
      DeviceMemory& device = m_devices[id];
      const bool isNew = device.points.empty() || device.points.back().bytes != state.bytes;
      if (m_detail != MemoryDetail::PeakOnly && isNew) device.points.push_back(state);
      if (isHigher(state, device.peak)) device.peak = state;
      const int64_t cached = state.bytes[static_cast<size_t>(MemoryCategory::Cached)];
      device.allocatedPeakBytes = std::max(device.allocatedPeakBytes, state.totalBytes - cached);
      device.hasDeclarations |= state.bytes[static_cast<size_t>(MemoryCategory::Unattributed)] != state.totalBytes;
    });
    outside += sweep.regionsNeverPlaced();
  }

  // A second time, to stop and look at each peak. A peak at a window's start is the state before that moment.
  void listPeaks() {
    MemorySweep sweep(m_memory);
    std::map<std::optional<DeviceId>, bool> isListed;
    const auto look = [&](TimePoint time, bool isAfter) {
      for (auto& [id, device] : m_devices) {
        const bool isDue = isAfter ? device.peak.time == time : device.peak.time < time;
        if (!isDue || isListed[id] || device.peak.totalBytes == 0) continue;
        device.liveAtPeak = liveIn(m_trace, m_memory, sweep.map(), id);
        isListed[id] = true;
      }
    };
    sweep.run([&](TimePoint time) { look(time, false); }, [&](TimePoint time) { look(time, true); });
    look(kAllTime.end, false);
  }

  void finish(std::vector<DeviceMemory>& result) {
    const Process* process = m_trace.process(m_memory.process);
    for (auto& [id, device] : m_devices) {
      device.process = m_memory.process;
      device.device = id;
      device.rank = m_memory.rank;
      if (m_detail == MemoryDetail::Places && !device.hasDeclarations)
        device.places = placesOf(m_trace, m_memory, id, device.liveAtPeak);
      if (!device.hasPool) device.reservedPeakBytes = device.peak.totalBytes;
      // Where an allocator told what it holds from the driver, that is what is reserved.
      const auto reserved = std::ranges::find(m_memory.spaces, "reserved");
      if (reserved != m_memory.spaces.end()) {
        const auto space = static_cast<uint32_t>(reserved - m_memory.spaces.begin());
        const int64_t bytes = peakOfSpace(m_memory, space, m_window, id).peakBytes;
        if (bytes > 0) device.reservedPeakBytes = bytes;
      }
      const bool isWhole = m_window == IntervalSet::unionOf({kAllTime});
      if (isWhole && process && process->end && !device.points.empty() && device.points.back().time < *process->end) {
        device.points.push_back(device.points.back());
        device.points.back().time = *process->end;
      }
      result.push_back(std::move(device));
    }
  }

 private:
  Trace& m_trace;
  const ProcessMemory& m_memory;
  const IntervalSet& m_window;
  MemoryDetail m_detail;
  std::vector<std::optional<DeviceId>> m_ids;
  std::map<std::optional<DeviceId>, DeviceMemory> m_devices;
};

}  // namespace

std::string_view nameOf(MemoryCategory category) { return kNames[static_cast<size_t>(category)].name; }
std::string_view displayNameOf(MemoryCategory category) { return kNames[static_cast<size_t>(category)].display; }

std::optional<MemoryCategory> memoryCategoryOf(std::string_view name) {
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
    if (kNames[i].name == name) return static_cast<MemoryCategory>(i);
  }
  return std::nullopt;
}

Result<MemoryAnalysis> analyzeMemory(Trace& trace, const Filter& filter, MemoryDetail detail) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto processes = loadMemory(trace, filter.rank);
  if (!processes.ok()) return processes.error();
  if (const Status inferred = inferCategories(trace, processes.value()); !inferred.ok()) return inferred.error();
  MemoryAnalysis result;
  for (const ProcessMemory& memory : processes.value()) {
    const auto window = std::ranges::find(windows.value(), memory.process, &ProcessWindows::process);
    // Memory of a process that the file does not list is there for as long as no filter limits it.
    const IntervalSet whole = IntervalSet::unionOf({kAllTime});
    if (window == windows.value().end() && !(filter.isWholeTime() && !filter.rank)) continue;
    const IntervalSet& host = window == windows.value().end() ? whole : window->host;
    ProcessAnalysis analysis(trace, memory, host, detail);
    analysis.findPeaks(result.regionsOutsideAllocations);
    analysis.listPeaks();
    analysis.finish(result.devices);
    auto spaces = peaksOfOtherSpaces(memory, host);
    if (!spaces.empty()) result.otherSpaces.push_back({memory.process, std::move(spaces)});
  }
  return result;
}

}  // namespace plumb
