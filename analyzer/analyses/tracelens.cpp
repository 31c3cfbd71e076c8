// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/tracelens.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analyzer/analyses/device_events.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/launches.h"
#include "analyzer/analyses/tracelens_gemm.h"
#include "analyzer/analyses/tracelens_grid.h"
#include "analyzer/analyses/tracelens_kernels.h"

namespace plumb {
namespace {

Result<std::set<ProcessId>> processesOnRocm(Trace& trace) {
  std::set<ProcessId> processes;
  auto names = trace.query("SELECT 1 FROM main.string WHERE text GLOB 'hip*' LIMIT 1");
  if (!names.ok()) return names.error();
  const bool hasNames = names.value().next();
  if (const Status status = names.value().status(); !status.ok()) return status.error();
  if (!hasNames) return processes;
  auto rows = trace.query(
      "SELECT DISTINCT process_id FROM main.api_call WHERE name_id IN (SELECT id FROM main.string WHERE text GLOB "
      "'hip*')");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) processes.insert(rows.value().id<ProcessId>(0));
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  return processes;
}

struct Work {
  std::vector<Interval> computation, communication, copies;
};

TraceLensTimeline timelineOf(Work work) {
  const IntervalSet computation = IntervalSet::unionOf(std::move(work.computation));
  const IntervalSet communication = IntervalSet::unionOf(std::move(work.communication));
  const IntervalSet copies = IntervalSet::unionOf(std::move(work.copies));
  const IntervalSet kernels = unite(computation, communication);
  const IntervalSet all = unite(kernels, copies);
  TraceLensTimeline result;
  result.computation = TraceLensGrid::milliseconds(computation.length());
  result.exposedCommunication = TraceLensGrid::milliseconds(subtract(communication, computation).length());
  result.exposedCopies = TraceLensGrid::milliseconds(subtract(copies, kernels).length());
  result.busy = TraceLensGrid::milliseconds(all.length());
  result.total = TraceLensGrid::milliseconds(all.hull().length());
  result.idle = TraceLensGrid::milliseconds(all.hull().length() - all.length());
  result.communication = TraceLensGrid::milliseconds(communication.length());
  result.copies = TraceLensGrid::milliseconds(copies.length());
  return result;
}

AnalysisRows timelineRows(Trace& trace, const Filter& filter) {
  auto timelines = traceLensTimelines(trace, filter);
  if (!timelines.ok()) return timelines.error();
  std::vector<CellRow> rows;
  for (const TraceLensTimeline& one : timelines.value()) {
    const std::pair<const char*, double> times[] = {{"computation_time", one.computation},
                                                    {"exposed_comm_time", one.exposedCommunication},
                                                    {"exposed_memcpy_time", one.exposedCopies},
                                                    {"busy_time", one.busy},
                                                    {"idle_time", one.idle},
                                                    {"total_time", one.total},
                                                    {"total_comm_time", one.communication},
                                                    {"total_memcpy_time", one.copies}};
    for (const auto& [name, time] : times) {
      rows.push_back(
          {cell(one.rank), textCell(name), time, one.total == 0 ? Cell(nullptr) : Cell(100 * time / one.total)});
    }
  }
  return rows;
}

constexpr AnalysisTable kTables[] = {
    {"tracelens_gpu_timeline", "rank INTEGER, type TEXT, time_ms REAL, percent REAL", timelineRows},
    {"tracelens_kernel_groups", kTraceLensKernelColumns, traceLensKernelRows},
    {"tracelens_gemm", kTraceLensGemmColumns, traceLensGemmRows}};

}  // namespace

Result<std::vector<TraceLensTimeline>> traceLensTimelines(Trace& trace, const Filter& filter) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto rocm = processesOnRocm(trace);
  if (!rocm.ok()) return rocm.error();
  std::function<bool(const WorkRow&)> keeps;
  if (!kept.value().keepsAll()) {
    keeps = [&](const WorkRow& work) { return kept.value().keepsOnGpu(work.process, work.time.start); };
  }
  auto devices = loadDeviceTimelines(trace, keeps);
  if (!devices.ok()) return devices.error();
  auto launches = LaunchIndex::load(trace, devices.value());
  if (!launches.ok()) return launches.error();
  std::vector<TraceLensTimeline> result;
  std::vector<Work> work;
  for (const DeviceTimeline& device : devices.value()) {
    if (filter.rank && device.rank != filter.rank) continue;
    if (result.empty() || result.back().process != device.process) {
      result.emplace_back().process = device.process;
      result.back().rank = device.rank;
      work.emplace_back();
    }
    const TraceLensGrid grid(trace.info().sessionStartRealtimeNs);
    const bool isRocm = rocm.value().count(device.process) > 0;
    for (const DeviceEvent& event : device.events) {
      if (!launches.value().find(device.process, event.correlation)) continue;
      if (!kept.value().keepsOnGpu(device.process, event.time.start)) continue;
      if (event.table == WorkKind::Set) {
        if (!isRocm) work.back().computation.push_back(grid(event.time));
      } else if (event.kind == GpuEventKind::Communication) {
        work.back().communication.push_back(grid(event.time));
      } else {
        (event.table == WorkKind::Kernel ? work.back().computation : work.back().copies).push_back(grid(event.time));
      }
    }
  }
  for (size_t i = 0; i < result.size(); ++i) {
    const TraceLensTimeline times = timelineOf(std::move(work[i]));
    const auto process = result[i].process;
    const auto rank = result[i].rank;
    result[i] = times;
    result[i].process = process;
    result[i].rank = rank;
  }
  return result;
}

std::span<const AnalysisTable> traceLensTables() noexcept { return kTables; }

}  // namespace plumb
