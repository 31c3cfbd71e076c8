// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/breakdown.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace plumb {

std::optional<double> Breakdown::overlapShare() const {
  if (communication == Duration()) return std::nullopt;
  return static_cast<double>(overlap.ns()) / static_cast<double>(communication.ns());
}

Breakdown breakDown(const GpuActivity& activity, Interval window) {
  const IntervalSet compute = activity.compute.clipped(window);
  const IntervalSet communication = activity.communication.clipped(window);
  const IntervalSet memory = activity.memory.clipped(window);
  const IntervalSet computeOrCommunication = unite(compute, communication);
  Breakdown result;
  result.window = window;
  result.span = window.length();
  result.compute = compute.length();
  result.communication = communication.length();
  result.memory = memory.length();
  result.overlap = intersect(communication, compute).length();
  result.exposedCommunication = subtract(communication, compute).length();
  result.exposedMemory = subtract(memory, computeOrCommunication).length();
  result.busy = unite(computeOrCommunication, memory).length();
  result.idle = result.span - result.busy;
  return result;
}

Breakdown breakDown(const GpuActivity& activity, const IntervalSet& windows) {
  Breakdown sum;
  sum.window = windows.hull();
  for (const Interval& window : windows.parts()) {
    const Breakdown part = breakDown(activity, window);
    for (Duration Breakdown::*time :
         {&Breakdown::span, &Breakdown::busy, &Breakdown::compute, &Breakdown::communication, &Breakdown::memory,
          &Breakdown::exposedCommunication, &Breakdown::overlap, &Breakdown::exposedMemory, &Breakdown::idle}) {
      sum.*time += part.*time;
    }
  }
  return sum;
}

std::function<bool(const GpuEvent&)> touching(const std::vector<ProcessWindows>& windows, const Filter& filter) {
  if (filter.isWholeTime() && !filter.rank) return {};
  std::unordered_map<ProcessId, Interval> hulls;
  for (const ProcessWindows& window : windows) {
    if (!window.gpu.parts().empty()) hulls.emplace(window.process, window.gpu.hull());
  }
  return [hulls = std::move(hulls)](const GpuEvent& event) {
    const auto hull = hulls.find(event.process);
    return hull != hulls.end() && event.time.start < hull->second.end && hull->second.start < event.time.end;
  };
}

Result<std::vector<DeviceBreakdown>> breakDown(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto activities = loadGpuActivity(trace, touching(windows.value(), filter));
  if (!activities.ok()) return activities.error();
  std::vector<DeviceBreakdown> result;
  for (const GpuActivity& activity : activities.value()) {
    const auto mine = std::ranges::find(windows.value(), activity.process, &ProcessWindows::process);
    if (mine == windows.value().end()) continue;
    const IntervalSet within = mine->gpu.clipped(limitOf(filter, activity.hull));
    result.push_back({activity.process, activity.rank, activity.device, breakDown(activity, within),
                      activity.communicationSource, activity.eventCount, activity.untimedEventCount});
  }
  return result;
}

}  // namespace plumb
