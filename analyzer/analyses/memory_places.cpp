// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_places.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>

namespace plumb {
namespace {

constexpr size_t kMostPlaces = 8;

std::vector<PlaceMemory> largestAtPeak(const std::vector<LiveMemory>& liveAtPeak) {
  std::map<std::string_view, int64_t> bytesOf;
  for (const LiveMemory& live : liveAtPeak) {
    if (!live.name.empty()) bytesOf[live.name] += live.bytes;
  }
  std::vector<PlaceMemory> places;
  for (const auto& [name, bytes] : bytesOf) places.push_back({std::string(name), bytes, {}});
  std::ranges::stable_sort(places, std::greater{}, &PlaceMemory::bytesAtPeak);
  places.resize(std::min(places.size(), kMostPlaces));
  return places;
}

void add(PlaceMemory& place, TimePoint start, std::optional<TimePoint> end, int64_t bytes) {
  place.history.emplace_back(start, bytes);
  if (end) place.history.emplace_back(*end, -bytes);
}

// From changes to what is held after each.
void addUp(PlaceMemory& place) {
  auto& history = place.history;
  std::ranges::stable_sort(history, {}, &std::pair<TimePoint, int64_t>::first);
  int64_t held = 0;
  for (auto& [time, bytes] : history) bytes = held += bytes;
}

}  // namespace

int64_t PlaceMemory::bytesAt(TimePoint time) const {
  const auto after = std::ranges::upper_bound(history, time, {}, &std::pair<TimePoint, int64_t>::first);
  return after == history.begin() ? 0 : std::prev(after)->second;
}

std::vector<PlaceMemory> placesOf(Trace& trace, const ProcessMemory& memory, std::optional<DeviceId> device,
                                  const std::vector<LiveMemory>& liveAtPeak) {
  std::vector<PlaceMemory> places = largestAtPeak(liveAtPeak);
  if (places.empty()) return places;
  std::unordered_map<std::string_view, PlaceMemory*> byName;
  for (PlaceMemory& place : places) byName.emplace(place.name, &place);
  const auto find = [&](std::string_view name) {
    const auto found = byName.find(name);
    return found == byName.end() ? nullptr : found->second;
  };
  if (memory.regions.empty()) {
    std::map<StringId, PlaceMemory*> byId;
    for (const MemoryBlock& block : memory.blocks) {
      if (!block.isOnDevice() || block.device != device) continue;
      const auto [known, isNew] = byId.try_emplace(block.place);
      if (isNew) known->second = find(trace.text(block.place));
      if (PlaceMemory* place = known->second) add(*place, block.start, block.end, block.bytes);
    }
  } else {
    for (const LiveMemory& live : liveAtPeak) {
      if (PlaceMemory* place = find(live.name)) add(*place, live.since, live.until, live.bytes);
    }
  }
  for (PlaceMemory& place : places) addUp(place);
  return places;
}

}  // namespace plumb
