// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/breakdown.h"

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

Result<std::vector<DeviceBreakdown>> breakDown(Trace& trace) {
  auto activities = loadGpuActivity(trace);
  if (!activities.ok()) return activities.error();
  std::vector<DeviceBreakdown> result;
  for (const GpuActivity& activity : activities.value()) {
    result.push_back({activity.process, activity.rank, activity.device, breakDown(activity, activity.hull),
                      activity.communicationSource, activity.eventCount, activity.untimedEventCount});
  }
  return result;
}

}  // namespace plumb
