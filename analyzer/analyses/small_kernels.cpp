// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/small_kernels.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/analyses/idle.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/range_times.h"
#include "analyzer/analyses/torch_ranges.h"
#include "analyzer/analyses/work_filter.h"

namespace plumb {
namespace {

class Grouping {
 public:
  Grouping(Trace& trace, const HostCallIndex& calls, const RangeForest& ranges)
      : m_calls(calls), m_ranges(ranges), m_places(trace, PlainRangeNames::Of::Places) {}

  void add(const DeviceTimeline& timeline, const DeviceEvent& kernel) {
    SmallKernels& group = groupOf(timeline, kernel);
    if (group.count++ == 0) {
      group.time = kernel.time;
      group.firstKernel = kernel.id;
    }
    group.fromGraphs += kernel.isFromGraph;
    group.kernelTime += kernel.time.length();
    group.time.end = std::max(group.time.end, kernel.time.end);
    group.lastKernel = kernel.id;
  }

  void addGap(const DeviceTimeline& timeline, const DeviceEvent& kernel, Duration gap) {
    if (gap.ns() > 0) groupOf(timeline, kernel).gapTime += gap;
  }

  std::vector<SmallKernels> take() { return std::move(m_groups); }

 private:
  SmallKernels& groupOf(const DeviceTimeline& timeline, const DeviceEvent& kernel) {
    const std::optional<StringId> range = rangeOf(timeline.process, kernel);
    const auto [at, isNew] = m_indices.emplace(std::tuple(timeline.process, timeline.device, range), m_groups.size());
    if (isNew) {
      SmallKernels group;
      group.process = timeline.process;
      group.device = timeline.device;
      group.range = range;
      m_groups.push_back(group);
    }
    return m_groups[at->second];
  }

  // The outermost around the launching call.
  [[nodiscard]] std::optional<StringId> rangeOf(ProcessId process, const DeviceEvent& kernel) {
    const HostCall* call = kernel.correlation == Correlation() ? nullptr : m_calls.find(process, kernel.correlation);
    if (!call) return std::nullopt;
    auto node = m_ranges.innermost(call->thread, call->time);
    if (!node) return std::nullopt;
    const auto& nodes = m_ranges.forest().nodes();
    while (nodes[*node].parent >= 0) node = static_cast<size_t>(nodes[*node].parent);
    return m_places.of(m_ranges.nameOf(*node));
  }

  const HostCallIndex& m_calls;
  const RangeForest& m_ranges;
  PlainRangeNames m_places;
  std::map<std::tuple<ProcessId, DeviceId, std::optional<StringId>>, size_t> m_indices;
  std::vector<SmallKernels> m_groups;
};

bool isSmall(const DeviceEvent& event) {
  return event.table == WorkKind::Kernel && event.kind == GpuEventKind::Compute && event.time.length() < kSmallKernel;
}

}  // namespace

Result<std::vector<SmallKernels>> findSmallKernels(Trace& trace, const Filter& filter) {
  auto kept = WorkFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto devices = findIdle(trace, filter);
  if (!devices.ok()) return devices.error();
  auto calls = HostCallIndex::load(trace);
  if (!calls.ok()) return calls.error();
  auto ranges = RangeForest::load(trace);
  if (!ranges.ok()) return ranges.error();
  Grouping groups(trace, calls.value(), ranges.value());
  for (const DeviceIdle& device : devices.value()) {
    const DeviceTimeline& timeline = device.timeline;
    for (const DeviceEvent& event : timeline.events) {
      if (isSmall(event) && kept.value().keeps(timeline.process, event.correlation, event.time.start))
        groups.add(timeline, event);
    }
    for (const IdleGap& gap : device.gaps) {
      if (!gap.after || !isSmall(timeline.events[*gap.after])) continue;
      const DeviceEvent& event = timeline.events[*gap.after];
      if (!kept.value().keeps(timeline.process, event.correlation, event.time.start)) continue;
      const Duration before = gap.byCause[static_cast<size_t>(IdleCause::DeviceScheduling)] + gap.launchLatency;
      if (before < kLongestSmallGap) groups.addGap(timeline, event, before);
    }
  }
  std::vector<SmallKernels> result = groups.take();
  auto order = orderOfProcesses(trace);
  std::ranges::stable_sort(result, [&](const SmallKernels& a, const SmallKernels& b) {
    return std::tuple(order[a.process], a.device, b.gapTime) < std::tuple(order[b.process], b.device, a.gapTime);
  });
  return result;
}

}  // namespace plumb
