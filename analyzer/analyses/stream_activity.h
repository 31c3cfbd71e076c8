// SPDX-License-Identifier: Apache-2.0
// How busy streams are, and how many at once; and which kinds of work the device did at the same time. Exact, clipped
// to the filter's GPU windows.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// Concurrency counts the streams of one device that are busy at a moment, whatever is on them.
struct StreamActivity {
  ProcessId process;
  DeviceId device;
  std::optional<StreamId> stream;  // none: the device as a whole
  int64_t eventCount = 0;
  int64_t streamCount = 0;             // streams with work; 1 for a stream
  Duration span;                       // of the device: its first start to its last end, inside the windows
  Duration total;                      // sum of the durations
  Duration busy;                       // union
  std::array<Duration, 3> concurrent;  // of busy: with exactly 1, exactly 2, 3 or more streams of the device busy
};

// Each device, then its streams, in order of rank.
[[nodiscard]] Result<std::vector<StreamActivity>> measureStreams(Trace& trace, const Filter& filter);

// A combination of kinds is a bit per GpuEventKind; 0 is idle.
inline constexpr size_t kKindCombinations = 8;
[[nodiscard]] constexpr size_t bitOf(GpuEventKind kind) { return size_t{1} << static_cast<size_t>(kind); }

// Time during which exactly these kinds ran; together they are the span.
struct KindTimes {
  ProcessId process;
  std::optional<int64_t> rank;
  DeviceId device;
  CommunicationSource communicationSource = CommunicationSource::Records;
  Duration span;
  std::array<Duration, kKindCombinations> exclusive;
};

[[nodiscard]] Result<std::vector<KindTimes>> measureKinds(Trace& trace, const Filter& filter);
[[nodiscard]] std::array<Duration, kKindCombinations> exclusiveTimes(const GpuActivity& activity,
                                                                     const IntervalSet& windows);

}  // namespace plumb
