// SPDX-License-Identifier: Apache-2.0
// Which GPU work a filter leaves, for what lists or counts kernels, copies and sets. As EventFilter (work that begins
// inside a GPU window), but work belongs to a --range when the call that launched it begins inside one, on any thread
// of the process: from the first start to the last end of a range's work that of others runs, too, which was launched
// before or after it.
#pragma once
#include <optional>
#include <unordered_map>

#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/launches.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

class WorkFilter {
 public:
  [[nodiscard]] static Result<WorkFilter> load(Trace& trace, const Filter& filter);
  // Work whose launch is not in the trace goes by its time.
  [[nodiscard]] bool keeps(ProcessId process, Correlation correlation, TimePoint start) const {
    return m_launches ? keepsLaunched(process, correlation, start) : m_events.keepsOnGpu(process, start);
  }
  [[nodiscard]] const EventFilter& events() const { return m_events; }

 private:
  [[nodiscard]] bool keepsLaunched(ProcessId process, Correlation correlation, TimePoint start) const;
  EventFilter m_events;
  std::optional<LaunchIndex> m_launches;  // with a range; likewise the following
  std::unordered_map<ProcessId, IntervalSet> m_launchTimes;
  std::optional<TimePoint> m_from, m_to;
};

}  // namespace plumb
