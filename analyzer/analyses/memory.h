// SPDX-License-Identifier: Apache-2.0
// Device memory over time by category. The total is the live allocations of space 'device'; a category is the live
// declared regions inside them (the innermost, latest declaration counts for a byte; one that names a whole allocation
// counts from the allocation on); what no region covers is 'unattributed', which is also told apart by the category
// that its lifetime suggests (memory_inference.h); declared and inferred bytes are never added up. Pinned and other
// spaces are counted apart and never belong to the peak; 'reserved' is what a caching allocator holds from the driver.
// A filter keeps the moments in the host windows of its processes, the state at their starts included.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// In the order in which charts stack them; the names are those of table memory_category.
enum class MemoryCategory : uint8_t {
  Parameter,
  Gradient,
  OptimizerState,
  Activation,
  Input,
  CommunicationBuffer,
  Workspace,
  Cached,
  Unattributed,
};
inline constexpr size_t kMemoryCategoryCount = 9;
[[nodiscard]] std::string_view nameOf(MemoryCategory category);         // "optimizer_state"
[[nodiscard]] std::string_view displayNameOf(MemoryCategory category);  // "optimizer state"
[[nodiscard]] std::optional<MemoryCategory> memoryCategoryOf(std::string_view name);

using BytesByCategory = std::array<int64_t, kMemoryCategoryCount>;

// Holds from `time` to the next point's time.
struct MemoryPoint {
  TimePoint time;
  int64_t totalBytes = 0;  // the sum of bytes
  BytesByCategory bytes{};
};

// A moment, with what the lifetimes say of the bytes that nothing declares.
struct MemoryState : MemoryPoint {
  BytesByCategory inferred{};  // sums to the undeclared bytes; its Unattributed: nothing can be inferred
};

// Something that was live at the peak: a declared region, or what of an allocation no region covers.
struct LiveMemory {
  std::string name;  // the declared one; else the place in the code that allocated it; "": neither is known
  MemoryCategory category = MemoryCategory::Unattributed;
  bool isDeclared = false;  // false: the category is inferred, or Unattributed
  uint64_t address = 0;
  int64_t bytes = 0;
  TimePoint since;
  std::optional<TimePoint> until;
};

// What a place in the program held over time.
struct PlaceMemory {
  std::string name;
  int64_t bytesAtPeak = 0;
  std::vector<std::pair<TimePoint, int64_t>> history;  // what it holds from each time on

  [[nodiscard]] int64_t bytesAt(TimePoint time) const;
};

struct SpacePeak {
  std::string space;  // 'pinned' 'managed' 'pageable' 'reserved' …
  int64_t peakBytes = 0;
  TimePoint peakTime;
  std::optional<DeviceId> device;  // of the spaces that a caching allocator has on each device
};

struct DeviceMemory {
  ProcessId process;
  std::optional<int64_t> rank;
  std::optional<DeviceId> device;  // none: the allocations name no device
  std::vector<MemoryPoint>
      points;  // none with PeakOnly. At each change; ends with the state at the end of the recording
  // Of the moments of the largest total the first with the fewest undeclared bytes, because a name is declared just
  // after its allocation.
  MemoryState peak;
  std::vector<LiveMemory> liveAtPeak;  // largest first; sums to the peak
  std::vector<PlaceMemory> places;     // only with Places, where nothing is declared; memory_places.h
  int64_t allocationCount = 0;
  bool hasPool = false;  // stream-ordered allocations: what their pool reserves beyond them was not recorded
  bool hasDeclarations = false;
  // Allocated (handed out) peak when a cache is declared: total without 'cached'. Reserved is then the total.
  int64_t allocatedPeakBytes = 0;
  // Of an imported memory snapshot the peak of space 'reserved'.
  std::optional<int64_t> reservedPeakBytes;  // none with hasPool
};

struct MemoryAnalysis {
  std::vector<DeviceMemory> devices;  // in order of rank
  struct ProcessSpaces {
    ProcessId process;
    std::vector<SpacePeak> spaces;  // other than 'device'
  };
  std::vector<ProcessSpaces> otherSpaces;
  int64_t regionsOutsideAllocations = 0;  // declared, but in no recorded device allocation: not counted
};

enum class MemoryDetail : uint8_t { PeakOnly, Points, Places };
[[nodiscard]] Result<MemoryAnalysis> analyzeMemory(Trace& trace, const Filter& filter = {},
                                                   MemoryDetail detail = MemoryDetail::Points);

}  // namespace plumb
