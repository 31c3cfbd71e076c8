// SPDX-License-Identifier: Apache-2.0
// The summary's parts about memory.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/analyses/fragmentation.h"
#include "analyzer/analyses/memory.h"
#include "analyzer/analyses/out_of_memory.h"
#include "analyzer/cli/empty_reason.h"
#include "analyzer/cli/summary_page.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {
namespace {

constexpr auto kLeft = TextTable::Align::Left;
constexpr auto kRight = TextTable::Align::Right;
constexpr size_t kMostDevices = 6;

std::string bytesText(int64_t bytes) { return formatBytes(static_cast<double>(bytes)); }

// True when nothing changes: a picture of one moment, not a history.
bool isOneMoment(const DeviceMemory& device) {
  return device.peak.time.ns() == 0 && std::ranges::all_of(device.points, [&](const MemoryPoint& point) {
           return point.totalBytes == device.peak.totalBytes;
         });
}

TextTable tableOf(const Trace& trace, const std::vector<DeviceMemory>& devices, size_t columns) {
  std::vector<std::string> headers = {"category"};
  std::vector<TextTable::Align> aligns = {kLeft};
  for (size_t i = 0; i < columns; ++i) {
    const std::string who = rankText(trace, devices[i].process);
    headers.push_back(who == "-" ? "bytes" : fmt::format("{}{}", devices[i].rank ? "rank " : "", who));
    aligns.push_back(kRight);
  }
  TextTable table(headers, aligns);
  const auto addRow = [&](const std::string& label, const std::function<std::string(const DeviceMemory&)>& cell) {
    std::vector<std::string> row = {label};
    for (size_t i = 0; i < columns; ++i) row.push_back(cell(devices[i]));
    table.add(std::move(row));
  };
  for (size_t category = 0; category < kMemoryCategoryCount; ++category) {
    if (std::ranges::all_of(devices, [&](const DeviceMemory& d) { return d.peak.bytes[category] == 0; })) continue;
    addRow(std::string(displayNameOf(static_cast<MemoryCategory>(category))),
           [&](const DeviceMemory& d) { return bytesText(d.peak.bytes[category]); });
  }
  addRow("peak", [](const DeviceMemory& d) { return bytesText(d.peak.totalBytes); });
  if (!std::ranges::all_of(devices, isOneMoment)) {
    addRow("time of the peak", [](const DeviceMemory& d) { return formatDuration(Duration(d.peak.time.ns())); });
  }
  return table;
}

// What is not on the device: a line for each space, however many processes have it.
void writeOtherSpaces(Page& page, const Trace& trace, const MemoryAnalysis& analysis) {
  struct Largest {
    int64_t bytes = -1, count = 0;
    ProcessId process;
    std::optional<DeviceId> device;
  };
  std::map<std::string, Largest> spaces;
  for (const auto& other : analysis.otherSpaces) {
    for (const SpacePeak& peak : other.spaces) {
      Largest& largest = spaces[peak.space];
      ++largest.count;
      if (peak.peakBytes > largest.bytes) {
        largest.bytes = peak.peakBytes;
        largest.process = other.process;
        largest.device = peak.device;
      }
    }
  }
  for (const auto& [space, largest] : spaces) {
    const std::string name = space == "reserved"       ? "reserved from the driver (what PyTorch's allocator holds)"
                             : space == "pending_free" ? "freed but still in use on a stream"
                                                       : space + " memory";
    const Device* device = largest.count > 1 && largest.device ? trace.device(*largest.device) : nullptr;
    const std::string whichDevice = device ? fmt::format(" (the most, of device {})", device->ordinal) : "";
    page.paragraph(fmt::format(
        "besides, {}: peak {}{}", escaped(name), bytesText(largest.bytes),
        trace.processes().size() > 1
            ? fmt::format(" ({}{})", largest.count > 1 ? "the most, of " : "", whoText(trace, largest.process))
            : whichDevice));
  }
}

// What pools hold from the driver, where an allocator counted it.
Status writeReserved(Page& page, Trace& trace) {
  auto found = analyzeFragmentation(trace);
  if (!found.ok()) return found.error();
  struct Counted {
    int64_t bytes;
    ProcessId process;
  };
  std::vector<Counted> counted;
  bool isUnknown = false;
  for (const DeviceFragmentation& device : found.value()) {
    isUnknown |= device.source == ReservedSource::Unknown;
    if (device.source != ReservedSource::Counter) continue;
    int64_t most = 0;
    for (const FragmentationMoment& moment : device.moments) most = std::max(most, moment.reservedBytes.value_or(0));
    counted.push_back({most, device.process});
  }
  if (!counted.empty()) {
    const Counted& most = *std::ranges::max_element(counted, {}, &Counted::bytes);
    page.paragraph(
        fmt::format("Allocated bytes. Reserved from the driver: peak {}, {}{}.", bytesText(most.bytes),
                    nameOf(ReservedSource::Counter),
                    counted.size() > 1 ? fmt::format(" (the most, of {})", whoText(trace, most.process)) : ""));
  }
  if (isUnknown) {
    page.paragraph(
        fmt::format("Allocated bytes. What is reserved from the driver{}: cannot say, because the "
                    "allocations come from a pool whose size was not recorded.",
                    counted.empty() ? "" : " on the other devices"));
  }
  return Unit{};
}

// The code that allocated most of what was live at the largest peak, of memory that nothing says the use of.
void writePlaces(Page& page, const std::vector<DeviceMemory>& devices) {
  struct Place {
    std::string_view name;
    int64_t bytes = 0, count = 0;
  };
  const DeviceMemory& largest =
      *std::ranges::max_element(devices, {}, [](const DeviceMemory& d) { return d.peak.totalBytes; });
  std::map<std::string_view, Place> byName;
  for (const LiveMemory& live : largest.liveAtPeak) {
    if (live.name.empty()) continue;
    Place& place = byName[live.name];
    place.name = live.name;
    place.bytes += live.bytes;
    ++place.count;
  }
  std::vector<Place> places;
  for (const auto& [name, place] : byName) places.push_back(place);
  std::ranges::stable_sort(places, std::greater{}, &Place::bytes);
  constexpr size_t kMost = 3, kWidth = 64;
  TextTable table({"live", "allocations", "allocated at"}, {kRight, kRight, kLeft});
  for (size_t i = 0; i < std::min(places.size(), kMost); ++i) {
    table.add({bytesText(places[i].bytes), formatCount(places[i].count), shortened(escaped(places[i].name), kWidth)});
  }
  if (!table.empty()) page.table(table);
}

void explain(Page& page, const std::vector<DeviceMemory>& devices) {
  if (std::ranges::all_of(devices, isOneMoment)) {
    page.paragraph("The file holds one moment: what was live when the snapshot was taken. It has no history.");
  } else {
    page.paragraph(
        "Times since the session's start, of the host's calls: the device uses the memory when the work queued before "
        "has run.");
  }
  const bool isUnattributed = std::ranges::all_of(devices, [](const DeviceMemory& d) {
    return d.peak.bytes[static_cast<size_t>(MemoryCategory::Unattributed)] == d.peak.totalBytes;
  });
  if (isUnattributed) {
    page.paragraph(
        "Unattributed: nothing in the file says what the memory was for. The largest allocations, and the code that "
        "made them where it is known: plumb report memory_peak FILE");
    writePlaces(page, devices);
  }
}

}  // namespace

Status writeMemory(Page& page, Trace& trace) {
  auto analysis = analyzeMemory(trace);
  if (!analysis.ok()) return analysis.error();
  const auto& devices = analysis.value().devices;
  if (devices.empty()) {
    const std::string reason = whyNoAllocation(trace);
    page.cannotSay("Peak device memory", reason.empty() ? "no device allocation was recorded" : reason);
    return Unit{};
  }
  page.heading("Peak device memory by category");
  const size_t columns = std::min(devices.size(), kMostDevices);
  page.table(tableOf(trace, devices, columns));
  if (devices.size() > columns)
    page.line(fmt::format("and {} more devices: plumb report memory FILE", devices.size() - columns));
  explain(page, devices);
  if (std::ranges::any_of(devices, &DeviceMemory::hasPool)) {
    if (Status written = writeReserved(page, trace); !written.ok()) return written;
  }
  writeOtherSpaces(page, trace, analysis.value());
  return Unit{};
}

Status writeOutOfMemory(Page& page, Trace& trace) {
  const auto moments = findOutOfMemory(trace);
  if (!moments.ok()) return moments.error();
  if (moments.value().empty()) return Unit{};
  const auto memory = analyzeMemory(trace);
  if (!memory.ok()) return memory.error();
  page.heading("Out of memory");
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < std::min(moments.value().size(), kMost); ++i) {
    const OutOfMemory& moment = moments.value()[i];
    std::string text =
        fmt::format("At {}, out of memory: {}", formatDuration(moment.time - TimePoint()), escaped(moment.what));
    for (const int64_t bytes : liveAt(moment, memory.value().devices))
      text += fmt::format("; {} were live", bytesText(bytes));
    page.paragraph(text + ".");
  }
  if (moments.value().size() > kMost) page.line(fmt::format("and {} more times", moments.value().size() - kMost));
  const int64_t first = (moments.value().front().time - TimePoint()).ns();
  page.line(fmt::format("What was live{}: plumb report memory_peak FILE --from {} --to {}",
                        moments.value().size() > 1 ? " the first time" : " then", first, first + 1));
  page.line("Held and not used: plumb report fragmentation FILE");
  return Unit{};
}

}  // namespace plumb::cli
