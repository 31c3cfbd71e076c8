// SPDX-License-Identifier: Apache-2.0
// The host-side call that launched a piece of GPU work, found by (process, correlation).
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/device_events.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// From a launch call's end to its work's start; what takes longer has another cause. Idle devices of today start work
// within 3 to 85 µs.
inline constexpr Duration kLongestUsualLatency{100'000};

struct Launch {
  Correlation correlation;
  ThreadId thread;
  TimePoint start;
  TimePoint end;  // the latest time there is: the call did not return
};

class LaunchIndex {
 public:
  // Keeps the calls that launched something; of nested calls with one correlation the outermost.
  [[nodiscard]] static Result<LaunchIndex> load(Trace& trace);
  [[nodiscard]] static Result<LaunchIndex> load(Trace& trace, const std::vector<DeviceTimeline>& timelines);
  [[nodiscard]] const Launch* find(ProcessId process,
                                   Correlation correlation) const;  // null: no such call in the trace
  [[nodiscard]] bool empty() const { return m_launches.empty(); }

 private:
  // Correlation ids count up, so that most lie close together: then a table leads straight to each.
  struct OfProcess {
    std::vector<Launch> launches;  // by correlation
    int64_t first = 0;             // correlation of places[0]
    std::vector<uint32_t> places;  // 1 + index into launches, 0: none; empty where they lie too far apart
    void makePlaces();
  };
  using Wanted = std::unordered_map<ProcessId, std::vector<Correlation>>;
  [[nodiscard]] static Result<LaunchIndex> load(Trace& trace, Wanted wanted);
  [[nodiscard]] Status lookUp(Trace& trace, ProcessId process, const std::vector<Correlation>& correlations);

  std::unordered_map<ProcessId, OfProcess> m_launches;
};

}  // namespace plumb
