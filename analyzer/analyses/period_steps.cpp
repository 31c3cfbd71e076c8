// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/period_steps.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "analyzer/analyses/device_events.h"
#include "analyzer/analyses/launches.h"

namespace plumb {
namespace {

Result<std::set<ProcessId>> declaringProcesses(Trace& trace) {
  std::set<ProcessId> processes;
  auto rows = trace.query("SELECT DISTINCT process_id FROM steps");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) processes.insert(rows.value().id<ProcessId>(0));
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  return processes;
}

// The compute kernels of the stream that has most of them; indices into the device's events.
std::vector<size_t> busiestStream(const DeviceTimeline& timeline) {
  std::unordered_map<StreamId, std::vector<size_t>> streams;
  for (size_t i = 0; i < timeline.events.size(); ++i) {
    const DeviceEvent& event = timeline.events[i];
    if (event.kind == GpuEventKind::Compute) streams[event.stream].push_back(i);
  }
  std::vector<size_t> best;
  StreamId bestStream;
  for (auto& [stream, events] : streams) {
    if (events.size() > best.size() || (events.size() == best.size() && stream < bestStream)) {
      best = std::move(events);
      bestStream = stream;
    }
  }
  return best;
}

bool areInsideLaunches(const DeviceTimeline& timeline, const std::vector<size_t>& kernels, const Period& period) {
  size_t inside = 0;
  for (size_t i = 1; i < period.starts.size(); ++i) {
    const Correlation launch = timeline.events[kernels[period.starts[i]]].correlation;
    inside += launch != Correlation() && launch == timeline.events[kernels[period.starts[i - 1]]].correlation;
  }
  return inside * 2 >= period.starts.size();
}

PeriodSteps stepsOf(const DeviceTimeline& timeline, const std::vector<size_t>& kernels, const Period& period,
                    const LaunchIndex& launches) {
  PeriodSteps result;
  result.device = timeline.device;
  result.kernelCount = period.length;
  const auto launchOf = [&](size_t kernel) {
    return launches.find(timeline.process, timeline.events[kernels[kernel]].correlation);
  };
  for (size_t i = 0; i < period.starts.size(); ++i) {
    const size_t first = period.starts[i];
    const bool isLast = i + 1 == period.starts.size();
    const size_t next = isLast ? std::min(kernels.size(), first + period.length) : period.starts[i + 1];
    PeriodStep step;
    const TimePoint start = timeline.events[kernels[first]].time.start;
    step.gpu = {start, start};
    // The work up to the next repetition's first kernel; the last repetition ends with its last kernel.
    for (size_t e = kernels[first]; e < (next < kernels.size() ? kernels[next] : timeline.events.size()); ++e) {
      if (isLast && e > kernels[next - 1]) break;
      step.gpu.end = std::max(step.gpu.end, timeline.events[e].time.end);
      ++step.eventCount;
    }
    step.host = step.gpu;
    if (const Launch* begin = launchOf(first)) {
      const Launch* end = next < kernels.size() ? launchOf(next) : launchOf(next - 1);
      if (end && begin->start < end->start) step.host = {begin->start, end->start};
    }
    result.steps.push_back(step);
  }
  return result;
}

// Adds what another device of the process does. Nothing follows the last repetition: it is given the usual time.
void addOtherDevice(const DeviceTimeline& timeline, std::vector<PeriodStep>& steps,
                    const std::vector<TimePoint>& starts) {
  std::vector<Duration> times;
  for (size_t i = 1; i < starts.size(); ++i) times.push_back(starts[i] - starts[i - 1]);
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  const TimePoint end = starts.back() + times[times.size() / 2];
  for (const DeviceEvent& event : timeline.events) {
    if (event.time.start < starts.front() || event.time.start >= end) continue;
    PeriodStep& step =
        steps[static_cast<size_t>(std::ranges::upper_bound(starts, event.time.start) - starts.begin()) - 1];
    step.gpu.end = std::max(step.gpu.end, event.time.end);
    ++step.eventCount;
  }
}

void addOtherDevices(const std::vector<DeviceTimeline>& timelines, ProcessId process, PeriodSteps& period) {
  std::vector<TimePoint> starts;
  for (const PeriodStep& step : period.steps) starts.push_back(step.gpu.start);
  for (const DeviceTimeline& timeline : timelines) {
    if (timeline.process == process && timeline.device != period.device) {
      addOtherDevice(timeline, period.steps, starts);
    }
  }
}

}  // namespace

Result<std::map<ProcessId, PeriodSteps>> findPeriodSteps(Trace& trace) {
  std::map<ProcessId, PeriodSteps> result;
  auto declaring = declaringProcesses(trace);
  if (!declaring.ok()) return declaring.error();
  const bool allDeclare = std::ranges::all_of(
      trace.processes(), [&](const Process& process) { return declaring.value().count(process.id) > 0; });
  if (allDeclare) return result;
  auto timelines = loadDeviceTimelines(trace);
  if (!timelines.ok()) return timelines.error();
  auto launches = LaunchIndex::load(trace, timelines.value());
  if (!launches.ok()) return launches.error();
  std::map<ProcessId, size_t> kernelCounts;
  for (const DeviceTimeline& timeline : timelines.value()) {
    if (declaring.value().count(timeline.process)) continue;
    const std::vector<size_t> kernels = busiestStream(timeline);
    if (kernels.size() <= kernelCounts[timeline.process]) continue;  // another device of it did more
    kernelCounts[timeline.process] = kernels.size();
    std::vector<uint64_t> names;
    std::vector<int64_t> gaps;
    TimePoint end = timeline.hull().start;
    for (const size_t index : kernels) {
      const DeviceEvent& event = timeline.events[index];
      names.push_back(static_cast<uint64_t>(event.name.value()));
      gaps.push_back(std::max<int64_t>(0, (event.time.start - end).ns()));
      end = std::max(end, event.time.end);
    }
    result.erase(timeline.process);
    if (const auto period = findPeriod(names, gaps); period && !areInsideLaunches(timeline, kernels, *period)) {
      result.emplace(timeline.process, stepsOf(timeline, kernels, *period, launches.value()));
    }
  }
  for (auto& [process, period] : result) addOtherDevices(timelines.value(), process, period);
  return result;
}

}  // namespace plumb
