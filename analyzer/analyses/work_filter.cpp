// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/work_filter.h"

#include <utility>

namespace plumb {

Result<WorkFilter> WorkFilter::load(Trace& trace, const Filter& filter) {
  auto events = EventFilter::load(trace, filter);
  if (!events.ok()) return events.error();
  WorkFilter result;
  result.m_events = std::move(events).value();
  if (!filter.range) return result;
  // --from and --to limit when the work ran, not when it was launched.
  Filter marked = filter;
  marked.from.reset();
  marked.to.reset();
  auto windows = findWindows(trace, marked);
  if (!windows.ok()) return windows.error();
  for (ProcessWindows& window : windows.value()) {
    result.m_launchTimes.emplace(window.process, std::move(window.host));
  }
  auto launches = LaunchIndex::load(trace);
  if (!launches.ok()) return launches.error();
  result.m_launches = std::move(launches).value();
  result.m_from = filter.from;
  result.m_to = filter.to;
  return result;
}

bool WorkFilter::keepsLaunched(ProcessId process, Correlation correlation, TimePoint start) const {
  const Launch* launch = m_launches->find(process, correlation);
  if (!launch) return m_events.keepsOnGpu(process, start);
  const auto times = m_launchTimes.find(process);
  return times != m_launchTimes.end() && contains(times->second, launch->start) && (!m_from || *m_from <= start) &&
         (!m_to || start < *m_to);
}

}  // namespace plumb
