// SPDX-License-Identifier: Apache-2.0
// What a caching allocator holds from the driver (reserved) against what it has handed out (allocated); the difference
// is cached. Where its segments are known, so is the largest free block, and
//   fragmentation = 1 - largest free block / all that is free in segments
// which is the part of the cached memory that one large allocation cannot use.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyses/memory_history.h"
#include "analyzer/trace/filter.h"

namespace plumb {

enum class ReservedSource : uint8_t {
  Segments,  // allocations of space 'reserved'
  Counter,   // the allocator's own total
  Driver,    // no pool: each allocation is the driver's, so reserved = allocated
  Unknown,   // from a pool whose size was not recorded
};
[[nodiscard]] std::string_view nameOf(ReservedSource source);

struct FragmentationMoment {
  const char* what = "";  // "most reserved" (and then most allocated) "most cached" "end" "out of memory" (the first)
  TimePoint time;
  std::optional<int64_t> reservedBytes;
  int64_t allocatedBytes = 0;
  // With ReservedSource::Segments:
  std::optional<int64_t> segmentCount;
  std::optional<int64_t> freeBytes, largestFreeBytes;
  std::string message;  // of "out of memory": what was asked for, as it was recorded
};

struct DeviceFragmentation {
  ProcessId process;
  std::optional<int64_t> rank;
  std::optional<DeviceId> device;
  ReservedSource source = ReservedSource::Unknown;
  std::vector<FragmentationMoment> moments;
};

// Devices with memory, in order of rank; moments inside the host windows of the filter.
[[nodiscard]] Result<std::vector<DeviceFragmentation>> analyzeFragmentation(Trace& trace, const Filter& filter = {});

// A number over time: each value holds until the next.
using ByteSeries = std::vector<std::pair<TimePoint, int64_t>>;
// The reserved bytes of each device, from whatever knows them.
struct ReservedSeries {
  ReservedSource source = ReservedSource::Unknown;
  ByteSeries bytes;                     // empty with Unknown
  std::optional<ByteSeries> allocated;  // the allocator's own, with Counter
};
class ReservedMemory {
 public:
  [[nodiscard]] static Result<ReservedMemory> load(Trace& trace);
  [[nodiscard]] ReservedSeries of(const Trace& trace, const ProcessMemory& memory,
                                  std::optional<DeviceId> device) const;

 private:
  struct Counters {
    ByteSeries reserved, allocated;
  };
  std::map<std::pair<ProcessId, int64_t>, Counters> m_counters;  // by process and ordinal
};
// Live bytes of one space of one device.
[[nodiscard]] ByteSeries liveBytes(const ProcessMemory& memory, std::optional<DeviceId> device, std::string_view space);

}  // namespace plumb
