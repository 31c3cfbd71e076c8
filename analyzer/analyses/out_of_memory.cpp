// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/out_of_memory.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

namespace plumb {
namespace {

constexpr std::string_view kPrefix = "out of memory: ";

// import/memory_snapshot.cpp writes the device into the sentence.
std::optional<DeviceId> deviceIn(std::string_view what, ProcessId process, const Trace& trace) {
  constexpr std::string_view kBefore = " were free on device ";
  const size_t at = what.find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t ordinal = -1;
  what.remove_prefix(at + kBefore.size());
  if (std::from_chars(what.data(), what.data() + what.size(), ordinal).ec != std::errc()) return std::nullopt;
  for (const Device& device : trace.devices()) {
    if (device.process == process && device.ordinal == ordinal) return device.id;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<OutOfMemory>> findOutOfMemory(Trace& trace) {
  auto rows = trace.query(
      "SELECT r.process_id, r.start_ns, n.text FROM main.range r JOIN main.string n ON n.id = r.name_id"
      " WHERE r.domain_id = (SELECT id FROM main.string WHERE text = 'PyTorch memory') AND r.kind = 'mark'"
      " AND EXISTS (SELECT 1 FROM main.string WHERE text = 'PyTorch memory')"  // else no range is looked at
      " AND n.text LIKE 'out of memory: %' ORDER BY r.start_ns, r.id");
  if (!rows.ok()) return rows.error();
  std::vector<OutOfMemory> found;
  while (rows.value().next()) {
    const auto process = rows.value().id<ProcessId>(0);
    const std::string_view what = rows.value().text(2).substr(kPrefix.size());
    found.push_back({process, rows.value().time(1), std::string(what), deviceIn(what, process, trace)});
  }
  if (Status status = rows.value().status(); !status.ok()) return status.error();
  return found;
}

bool isOf(const OutOfMemory& moment, const DeviceMemory& memory) {
  return memory.process == moment.process && (!moment.device || !memory.device || memory.device == moment.device);
}

std::vector<int64_t> liveAt(const OutOfMemory& moment, const std::vector<DeviceMemory>& devices) {
  std::vector<int64_t> live;
  for (const DeviceMemory& memory : devices) {
    if (!isOf(moment, memory)) continue;
    const auto after = std::ranges::upper_bound(memory.points, moment.time, {}, &MemoryPoint::time);
    if (after != memory.points.begin()) live.push_back(std::prev(after)->totalBytes);
  }
  return live;
}

}  // namespace plumb
