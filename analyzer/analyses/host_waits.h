// SPDX-License-Identifier: Apache-2.0
// Host waits: calls in which a thread waits for the device, and what that cost the device, told by the causes of its
// idle time (idle.h), so that report idle and this say the same of the same gap:
//   caused idle   the idle time inside the wait, before the next work that the thread launched, and, of the first wait
//                 in a gap, which let the device run dry, the latency of that launch; host synchronization in report
//                 idle. Over all waits they add up to it.
//   exposed host  likewise idle time after the wait in the same gap, in which the thread made the next work ready:
//   launch-bound
//                 or unknown in report idle. A host that had run ahead would have hidden it.
//   refill        idle time of later gaps in which launches were late, until the host had caught up with what the wait
//                 took from its lead (queue_refill.h)
//   avoidable     what the device would have gained at most without the waits: all of them, but not more than the wait
//                 itself, because the host would have been no more than that earlier
// Gaps between work that was queued already are not a wait's doing, nor is what report idle calls launched long before.
// An asynchronous copy of pageable memory whose call returned only after the copy had ended is a wait too. Of threads
// that wait at once the one has the idle time that launched what ended it.
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
  std::optional<StringId> range, op;  // the innermost around the call; range: a place (torch_ranges.h)
  Interval time;
  // Sums over the process's devices; none: the process has no GPU work, or the thread is not known.
  struct Cost {
    Duration causedIdle, exposedHost, refill, avoidable;
  };
  std::optional<Cost> cost;
};

// By process, thread and start. A call inside another wait of its thread (a driver call) is part of it.
[[nodiscard]] Result<std::vector<HostWait>> findHostWaits(Trace& trace, const Filter& filter);

enum class WaitGrouping : uint8_t { Site, Thread, Call };
struct WaitTotals {
  HostWait first;  // an example; what it is not grouped by does not count
  Sample durations;
  std::optional<HostWait::Cost> cost;
};
// Site: thread, function, what is waited for, operator and range. In order of rank, the most avoidable time first.
[[nodiscard]] Result<std::vector<WaitTotals>> totalHostWaits(Trace& trace, const Filter& filter, WaitGrouping grouping);

}  // namespace plumb
