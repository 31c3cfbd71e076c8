// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/fragmentation.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "analyzer/analyses/out_of_memory.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

// "torch reserved bytes, device 3" -> 3
std::optional<int64_t> ordinalIn(std::string_view name) {
  const size_t blank = name.rfind(' ');
  int64_t ordinal = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + blank + 1, end, ordinal);
  return error == std::errc() && at == end ? std::optional(ordinal) : std::nullopt;
}

bool covers(const MemoryBlock& block, TimePoint time) {
  return block.start <= time && (!block.end || *block.end > time);
}

// Free parts of the segments that are live at the moment, in which a handed-out or pending block lies in no byte.
void measureSegments(const ProcessMemory& memory, std::optional<DeviceId> device, FragmentationMoment& moment) {
  struct Span {
    uint64_t start, end;
  };
  std::vector<Span> segments, taken;
  for (const MemoryBlock& block : memory.blocks) {
    if (block.device != device || !covers(block, moment.time)) continue;
    const std::string& space = memory.spaces[block.space];
    const Span span{block.address, block.address + static_cast<uint64_t>(block.bytes)};
    if (space == "reserved") segments.push_back(span);
    if (space == "device" || space == "pending_free") taken.push_back(span);
  }
  std::ranges::sort(segments, {}, &Span::start);
  std::ranges::sort(taken, {}, &Span::start);
  int64_t free = 0, largest = 0;
  const auto add = [&](uint64_t from, uint64_t to) {
    if (to <= from) return;
    free += static_cast<int64_t>(to - from);
    largest = std::max(largest, static_cast<int64_t>(to - from));
  };
  auto next = taken.begin();
  for (const Span& segment : segments) {
    uint64_t at = segment.start;
    while (next != taken.end() && next->end <= segment.start) ++next;
    for (; next != taken.end() && next->start < segment.end; ++next) {
      add(at, std::min(next->start, segment.end));
      at = std::max(at, next->end);
      if (next->end > segment.end) break;  // it reaches into the next one
    }
    add(at, segment.end);
  }
  moment.segmentCount = static_cast<int64_t>(segments.size());
  moment.freeBytes = free;
  moment.largestFreeBytes = largest;
}

int64_t valueAt(const ByteSeries& series, TimePoint time) {
  const auto after = std::ranges::upper_bound(series, time, {}, &ByteSeries::value_type::first);
  return after == series.begin() ? 0 : std::prev(after)->second;
}

// The first time in the windows that the device had no memory left; none: it always had.
std::optional<FragmentationMoment> momentOfExhaustion(const std::vector<OutOfMemory>& events, ProcessId process,
                                                      const Device* device, const IntervalSet& windows) {
  for (const OutOfMemory& event : events) {
    if (event.process != process || !windows.contains(event.time)) continue;
    if (event.device && device && *event.device != device->id) continue;
    FragmentationMoment moment;
    moment.what = "out of memory";
    moment.time = event.time;
    moment.message = "out of memory: " + event.what;
    return moment;
  }
  return std::nullopt;
}

// Plays two series together and keeps the moments that matter.
class Moments {
 public:
  Moments(const ByteSeries& reserved, const ByteSeries& allocated, bool isKnown)
      : m_reserved(reserved), m_allocated(allocated), m_isKnown(isKnown) {}

  std::vector<FragmentationMoment> find(const IntervalSet& windows) {
    for (const Interval& window : windows.parts()) {
      if (window.start > kAllTime.start) {
        moveTo(window.start);
        look(window.start);
      }
      for (TimePoint time = nextAfter(window.start); time < window.end; time = nextAfter(time)) {
        moveTo(time);
        look(time);
      }
    }
    std::vector<FragmentationMoment> moments;
    if (!m_end) return moments;
    if (m_isKnown) {
      moments.push_back(*m_mostReserved);
      moments.push_back(*m_mostCached);
    }
    moments.push_back(*m_end);
    return moments;
  }

 private:
  [[nodiscard]] TimePoint nextAfter(TimePoint time) {
    TimePoint next = kAllTime.end;
    for (const ByteSeries* series : {&m_reserved, &m_allocated}) {
      const size_t at = series == &m_reserved ? m_nextReserved : m_nextAllocated;
      for (size_t i = at; i < series->size(); ++i) {
        if ((*series)[i].first <= time) continue;
        next = std::min(next, (*series)[i].first);
        break;
      }
    }
    return next;
  }
  void moveTo(TimePoint time) {
    while (m_nextReserved < m_reserved.size() && m_reserved[m_nextReserved].first <= time) ++m_nextReserved;
    while (m_nextAllocated < m_allocated.size() && m_allocated[m_nextAllocated].first <= time) ++m_nextAllocated;
  }
  void look(TimePoint time) {
    FragmentationMoment now;
    now.time = time;
    now.allocatedBytes = m_nextAllocated > 0 ? m_allocated[m_nextAllocated - 1].second : 0;
    const int64_t reserved = m_nextReserved > 0 ? m_reserved[m_nextReserved - 1].second : 0;
    now.what = "end";
    if (m_isKnown) now.reservedBytes = reserved;
    m_end = now;
    if (!m_isKnown) return;
    // What is handed out later without reserving more was only cached before.
    if (!m_mostReserved || std::pair(reserved, now.allocatedBytes) >
                               std::pair(*m_mostReserved->reservedBytes, m_mostReserved->allocatedBytes)) {
      now.what = "most reserved";
      m_mostReserved = now;
    }
    if (!m_mostCached || reserved - now.allocatedBytes > *m_mostCached->reservedBytes - m_mostCached->allocatedBytes) {
      now.what = "most cached";
      m_mostCached = now;
    }
  }

  const ByteSeries& m_reserved;
  const ByteSeries& m_allocated;
  bool m_isKnown;
  size_t m_nextReserved = 0, m_nextAllocated = 0;
  std::optional<FragmentationMoment> m_mostReserved, m_mostCached, m_end;
};

}  // namespace

std::string_view nameOf(ReservedSource source) {
  static constexpr std::array<std::string_view, 4> kNames = {
      "segments", "the allocator's counter", "the driver: there is no pool",
      "cannot say: allocations come from a pool whose size was not recorded"};
  return kNames[static_cast<size_t>(source)];
}

ByteSeries liveBytes(const ProcessMemory& memory, std::optional<DeviceId> device, std::string_view space) {
  std::vector<std::pair<TimePoint, int64_t>> changes;
  for (const MemoryBlock& block : memory.blocks) {
    if (block.device != device || memory.spaces[block.space] != space) continue;
    changes.emplace_back(block.start, block.bytes);
    if (block.end) changes.emplace_back(*block.end, -block.bytes);
  }
  std::ranges::sort(changes);
  ByteSeries series;
  int64_t now = 0;
  for (const auto& [time, change] : changes) {
    now += change;
    if (!series.empty() && series.back().first == time) {
      series.back().second = now;
    } else {
      series.emplace_back(time, now);
    }
  }
  return series;
}

Result<ReservedMemory> ReservedMemory::load(Trace& trace) {
  ReservedMemory result;
  auto rows = trace.query(
      "SELECT c.process_id, c.start_ns, c.value, c.name_id FROM main.counter_sample c WHERE c.name_id IN"
      " (SELECT id FROM main.string WHERE text GLOB 'torch reserved bytes, device *'"
      " OR text GLOB 'torch allocated bytes, device *' OR text GLOB 'memory pool reserved bytes, device *'"
      " OR text GLOB 'memory pool used bytes, device *')");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    const std::string_view name = trace.text(row.id<StringId>(3));
    const auto ordinal = ordinalIn(name);
    if (!ordinal || !isUsableTime(row.integer(1), 0)) continue;
    Counters& counters = result.m_counters[{row.id<ProcessId>(0), *ordinal}];
    const bool isReserved = name.find("reserved") != std::string_view::npos;
    (isReserved ? counters.reserved : counters.allocated).emplace_back(row.time(1), row.integer(2));
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  for (auto& [key, counters] : result.m_counters) {
    for (ByteSeries* series : {&counters.reserved, &counters.allocated}) {
      std::ranges::stable_sort(*series, {}, &ByteSeries::value_type::first);
    }
  }
  return result;
}

ReservedSeries ReservedMemory::of(const Trace& trace, const ProcessMemory& memory,
                                  std::optional<DeviceId> device) const {
  ByteSeries segments = liveBytes(memory, device, "reserved");
  if (!segments.empty()) return {ReservedSource::Segments, std::move(segments), {}};
  const Device* known = device ? trace.device(*device) : nullptr;
  const auto counters = known ? m_counters.find({memory.process, known->ordinal}) : m_counters.end();
  if (counters != m_counters.end() && !counters->second.reserved.empty()) {
    std::optional<ByteSeries> allocated;
    if (!counters->second.allocated.empty()) allocated = counters->second.allocated;
    return {ReservedSource::Counter, counters->second.reserved, std::move(allocated)};
  }
  const bool hasPool = std::ranges::any_of(memory.blocks, [&](const MemoryBlock& block) {
    return block.isOnDevice() && block.device == device && block.fromPool;
  });
  if (hasPool) return {};
  return {ReservedSource::Driver, liveBytes(memory, device, "device"), {}};
}

Result<std::vector<DeviceFragmentation>> analyzeFragmentation(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto processes = loadMemory(trace, filter.rank);
  if (!processes.ok()) return processes.error();
  auto reserved = ReservedMemory::load(trace);
  if (!reserved.ok()) return reserved.error();
  auto exhaustions = findOutOfMemory(trace);
  if (!exhaustions.ok()) return exhaustions.error();
  std::vector<DeviceFragmentation> result;
  for (const ProcessMemory& memory : processes.value()) {
    const auto window = std::ranges::find(windows.value(), memory.process, &ProcessWindows::process);
    if (window == windows.value().end()) continue;
    for (const std::optional<DeviceId>& device : devicesOf(memory)) {
      const ReservedSeries series = reserved.value().of(trace, memory, device);
      const ByteSeries allocated = series.allocated ? *series.allocated : liveBytes(memory, device, "device");
      DeviceFragmentation one{memory.process, memory.rank, device, series.source, {}};
      one.moments = Moments(series.bytes, allocated, series.source != ReservedSource::Unknown).find(window->host);
      const Device* known = device ? trace.device(*device) : nullptr;
      if (auto moment = momentOfExhaustion(exhaustions.value(), memory.process, known, window->host)) {
        moment->allocatedBytes = valueAt(allocated, moment->time);
        if (series.source != ReservedSource::Unknown) moment->reservedBytes = valueAt(series.bytes, moment->time);
        one.moments.push_back(*std::move(moment));
      }
      if (series.source == ReservedSource::Segments) {
        for (FragmentationMoment& moment : one.moments) measureSegments(memory, device, moment);
      }
      result.push_back(std::move(one));
    }
  }
  return result;
}

}  // namespace plumb
