// SPDX-License-Identifier: Apache-2.0
// What can hold up work that is in its stream's queue already: waits for events of other streams, and ranks that a
// collective waits for.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/device_events.h"
#include "analyzer/trace/trace.h"

namespace plumb {

class QueuedWork {
 public:
  // `timelines`: of all devices of the trace.
  [[nodiscard]] static Result<QueuedWork> load(Trace& trace, const std::vector<DeviceTimeline>& timelines);
  // A wait for an event was enqueued on the stream from `after` on, not later than `until` (host times of the calls).
  [[nodiscard]] bool waitsForEvent(StreamId stream, TimePoint after, TimePoint until) const;
  // When the last of the other ranks arrived at the collective that was launched by the call; none: not one that is
  // matched over ranks.
  [[nodiscard]] std::optional<TimePoint> lastPeerArrival(ProcessId process, Correlation correlation) const;

 private:
  std::unordered_map<StreamId, std::vector<TimePoint>> m_waits;  // sorted
  std::unordered_map<ProcessId, std::unordered_map<Correlation, TimePoint>> m_arrivals;
};

}  // namespace plumb
