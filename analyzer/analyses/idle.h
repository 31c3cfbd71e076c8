// SPDX-License-Identifier: Apache-2.0
// Idle time of a device and what delayed it. A gap is a maximal time in which no stream of the device works; what
// delayed it is what delayed E, the next piece of GPU work of the device, with L the call that launched it:
//   before L began (when L began inside the gap), by what L's thread did:
//     host synchronization  it was inside a wait for the device or a copy that blocks (host_activity.h)
//     profiler overhead     a record of the profiler's own work says so
//     data loading          it was inside a range, operator or Python function that fetches data
//     launch-bound          it was in other calls or ranges
//     unknown               nothing is recorded of it
//   from L's begin to E's start: the launch's own latency:
//     host synchronization  such a wait reached into the gap before L (without it E would have been queued), and L is
//                           neither a copy that blocks nor one of pageable memory
//     launch-bound          else, but at most to 100 µs after L's end. After that E was launched and still did not
//                           start: host synchronization while L's thread was in a wait for the device or a copy that
//                           blocks, else communication skew or stream dependency as below, the latter only with a
//                           record, else device scheduling
//   when L began before the gap, so that E was queued already:
//     communication skew    E is a collective and the last of its other ranks arrived inside the gap: until then
//     stream dependency     a wait for an event was enqueued on E's stream before E; without such a record, E follows
//                           work of another stream (evidence: order)
//     device scheduling     E follows work of its own stream, or of its own graph: nobody kept it waiting, the device
//                           took this long from one piece of queued work to the next
//   without a launch in the trace: unknown
// Moments in which L's thread did nothing that was recorded are looked up on the thread that launched the work before
// the gap. The parts of all gaps add up to the idle time of the breakdown over the same windows.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/analyses/device_events.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class IdleCause : uint8_t {
  HostSynchronization,
  LaunchBound,
  DataLoading,
  StreamDependency,
  CommunicationSkew,
  ProfilerOverhead,
  DeviceScheduling,
  Unknown
};
inline constexpr size_t kIdleCauseCount = 8;
[[nodiscard]] std::string_view nameOf(IdleCause cause);  // "host_synchronization" …

// What the cause is told by.
enum class IdleEvidence : uint8_t {
  BlockingCall,
  OverheadRecord,
  DataRange,
  BusyHost,
  BusyHostAfterWait,
  LaunchLatency,
  WaitLatency,
  PeerArrival,
  WaitRecord,
  OtherStream,
  SameStream,
  SameGraph,
  QueuedInWait,
  LateStart,
  NoHostRecord,
  NoHostRecordAfterWait,
  NoLaunch,
  NoWork
};
[[nodiscard]] std::string_view textOf(IdleEvidence evidence);  // a few words for the user

struct IdlePart {
  Interval time;
  IdleCause cause = IdleCause::Unknown;
  IdleEvidence evidence = IdleEvidence::NoLaunch;
  StringId call, range;  // what ran on the host's thread meanwhile; 0: nothing recorded
  // The wait that this is part of, else the first one before it in the gap: its thread, and a moment inside it.
  std::optional<std::pair<ThreadId, TimePoint>> wait;
};

struct IdleGap {
  Interval time;                                  // the part inside the windows
  std::optional<size_t> before, after;            // indices into the device's events
  std::array<Duration, kIdleCauseCount> byCause;  // adds up to time
  Duration launchLatency;                         // of launch-bound: evidence LaunchLatency
  IdlePart main;                                  // the longest part of the cause that took most of the gap
};

struct IdleTotal {
  int64_t gapCount = 0;
  Duration time, largest;  // of all gaps, of one
};

struct DeviceIdle {
  std::optional<int64_t> rank;
  DeviceTimeline timeline;
  Duration total;             // of all gaps
  std::vector<IdleGap> gaps;  // in order of time
  std::map<std::pair<IdleCause, IdleEvidence>, IdleTotal> byEvidence;
  std::map<std::pair<StringId, IdleCause>, IdleTotal> byRange;  // the host's place; 0: nothing recorded
  std::vector<IdlePart> ofWaits;                                // the parts that have a wait, in order of time
};

// Causes: only `total` and `byEvidence`, for which little of the host's activity has to be looked at.
enum class IdleDetail : uint8_t { Causes, Gaps };

// One row per device that did anything, in order of rank; limits as in breakDown.
[[nodiscard]] Result<std::vector<DeviceIdle>> findIdle(Trace& trace, const Filter& filter = {},
                                                       IdleDetail detail = IdleDetail::Gaps);

}  // namespace plumb
