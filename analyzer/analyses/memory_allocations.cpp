// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_allocations.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/analyses/memory_inference.h"
#include "analyzer/analyses/windows.h"

namespace plumb {

Result<std::vector<AllocationGroup>> groupAllocations(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto processes = loadMemory(trace, filter.rank);
  if (!processes.ok()) return processes.error();
  if (const Status inferred = inferCategories(trace, processes.value()); !inferred.ok()) return inferred.error();
  std::vector<AllocationGroup> result;
  for (const ProcessMemory& memory : processes.value()) {
    const auto window = std::ranges::find(windows.value(), memory.process, &ProcessWindows::process);
    if (window == windows.value().end()) continue;
    std::map<std::tuple<std::optional<DeviceId>, uint32_t, StringId, MemoryCategory, bool, int64_t>, AllocationGroup>
        groups;
    for (const MemoryBlock& block : memory.blocks) {
      if (!window->host.contains(block.start)) continue;
      const MemoryRegion* region = block.region ? &memory.regions[*block.region] : nullptr;
      const bool isDeclared = region && region->category != MemoryCategory::Unattributed;
      const MemoryCategory category = isDeclared ? region->category : block.inferred;
      const StringId name = region ? region->name : block.place;
      const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(block.bytes)));
      AllocationGroup& group = groups[{block.device, block.space, name, category, isDeclared, size}];
      if (group.count++ == 0) {
        group.process = memory.process;
        group.rank = memory.rank;
        group.device = block.device;
        group.space = memory.spaces[block.space];
        group.name = trace.text(name);
        group.category = category;
        group.isDeclared = isDeclared;
        group.sizeClassBytes = size;
      }
      group.bytes += block.bytes;
      group.largestBytes = std::max(group.largestBytes, block.bytes);
      if (block.end) {
        ++group.freedCount;
        group.freedLife += *block.end - block.start;
      } else {
        group.liveAtEndBytes += block.bytes;
      }
    }
    for (auto& [key, group] : groups) result.push_back(std::move(group));
  }
  std::ranges::stable_sort(result, std::greater{}, &AllocationGroup::bytes);
  return result;
}

}  // namespace plumb
