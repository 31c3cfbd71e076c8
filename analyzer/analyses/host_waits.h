// SPDX-License-Identifier: Apache-2.0
// Host waits: calls in which a thread waits for the device. What the waiting cost the device: its idle time (all
// streams) from when it ran dry to the GPU start of what the same thread launched next (of the next wait, if that comes
// first). It ran dry when its last work before the wait's end was done, but not before the wait's start; gaps between
// work that was queued already are not the wait's doing. An asynchronous copy of pageable memory whose call returned
// only after the copy had ended is a wait too. When two threads wait at once the same idle time is on both.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/analyses/statistics.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class WaitsFor : uint8_t { Device, Stream, Event, Copy };  // Copy: a copy that blocks until it is done
[[nodiscard]] const char* nameOf(WaitsFor what);

struct HostWait {
  ProcessId process;
  std::optional<ThreadId> thread;  // none: the call is not in the trace
  std::optional<StringId> call;    // name of the API function
  WaitsFor what = WaitsFor::Device;
  std::optional<StreamId> stream;
  std::optional<StringId> range, op;  // the innermost around the call; range: see PlainRangeNames (torch_ranges.h)
  Interval time;
  std::optional<Duration> gpuIdle;  // none: the process has no GPU work, or the thread is not known
};

// By process, thread and start. A call inside another wait of its thread (a driver call) is part of it.
[[nodiscard]] Result<std::vector<HostWait>> findHostWaits(Trace& trace, const Filter& filter);

enum class WaitGrouping : uint8_t { Site, Thread, Call };
struct WaitTotals {
  HostWait first;  // an example; what it is not grouped by does not count
  Sample durations;
  std::optional<Duration> gpuIdle;
};
// Site: thread, function, what is waited for, operator and range. In order of rank, the most idle time first.
[[nodiscard]] Result<std::vector<WaitTotals>> totalHostWaits(Trace& trace, const Filter& filter, WaitGrouping grouping);

}  // namespace plumb
