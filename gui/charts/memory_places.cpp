// SPDX-License-Identifier: Apache-2.0
#include "gui/charts/memory_places.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace plumb::gui {

std::optional<MemoryPlaces> MemoryPlaces::of(const DeviceMemory& memory) {
  if (memory.hasDeclarations) return std::nullopt;
  std::map<std::string, Place> byName;
  for (const LiveMemory& live : memory.liveAtPeak) {
    if (live.name.empty()) continue;
    Place& place = byName[live.name];
    place.bytes += live.bytes;
    place.bySince.emplace_back(live.since.ns(), live.bytes);
  }
  if (byName.empty()) return std::nullopt;
  MemoryPlaces result;
  for (auto& [name, place] : byName) {
    place.name = name;
    std::ranges::sort(place.bySince);
    int64_t sum = 0;
    for (auto& [since, bytes] : place.bySince) bytes = sum += bytes;
    result.m_places.push_back(std::move(place));
  }
  std::ranges::stable_sort(result.m_places, std::greater<>(), &Place::bytes);
  result.m_places.resize(std::min(result.m_places.size(), kMost));
  result.m_untilNs = std::numeric_limits<double>::max();
  int64_t before = 0;
  for (const MemoryPoint& point : memory.points) {
    if (point.time > memory.peak.time && point.totalBytes < before) {
      result.m_untilNs = static_cast<double>(point.time.ns());
      break;
    }
    before = point.totalBytes;
  }
  return result;
}

int64_t MemoryPlaces::bytesAt(size_t place, double ns) const {
  if (ns >= m_untilNs) return 0;
  const auto& list = m_places[place].bySince;
  const auto after = std::partition_point(list.begin(), list.end(),
                                          [ns](const auto& one) { return static_cast<double>(one.first) <= ns; });
  return after == list.begin() ? 0 : std::prev(after)->second;
}

}  // namespace plumb::gui
