// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/tracelens.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analyzer/analyses/device_events.h"
#include "analyzer/analyses/launches.h"

namespace plumb {
namespace {

Result<std::set<ProcessId>> processesOnRocm(Trace& trace) {
  std::set<ProcessId> processes;
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

// Time as the source's floating-point microseconds hold it, in parts of a microsecond that are exact in them.
class Grid {
 public:
  explicit Grid(int64_t originNs) : m_originNs(originNs) {
    // torch.profiler counts from the last multiple of three months.
    constexpr int64_t kThreeMonthsNs = 7'889'238 * int64_t{1'000'000'000};
    m_baseNs = originNs > 0 ? originNs / kThreeMonthsNs * kThreeMonthsNs : 0;
  }
  [[nodiscard]] Interval operator()(Interval time) const {
    const double start = microseconds(m_originNs - m_baseNs + time.start.ns());
    const double end = start + static_cast<double>(time.length().ns()) / 1000;
    return {parts(start), parts(end)};
  }
  [[nodiscard]] static double milliseconds(Duration parts) { return static_cast<double>(parts.ns()) / kParts / 1000; }

 private:
  static constexpr double kParts = 1 << 14;
  static double microseconds(int64_t ns) {
    return static_cast<double>(ns / 1000) + static_cast<double>(ns % 1000) / 1000;
  }
  static TimePoint parts(double us) { return TimePoint(static_cast<int64_t>(us * kParts)); }
  int64_t m_originNs, m_baseNs = 0;
};

TraceLensTimeline timelineOf(Work work) {
  const IntervalSet computation = IntervalSet::unionOf(std::move(work.computation));
  const IntervalSet communication = IntervalSet::unionOf(std::move(work.communication));
  const IntervalSet copies = IntervalSet::unionOf(std::move(work.copies));
  const IntervalSet kernels = unite(computation, communication);
  const IntervalSet all = unite(kernels, copies);
  TraceLensTimeline result;
  result.computation = Grid::milliseconds(computation.length());
  result.exposedCommunication = Grid::milliseconds(subtract(communication, computation).length());
  result.exposedCopies = Grid::milliseconds(subtract(copies, kernels).length());
  result.busy = Grid::milliseconds(all.length());
  result.total = Grid::milliseconds(all.hull().length());
  result.idle = Grid::milliseconds(all.hull().length() - all.length());
  result.communication = Grid::milliseconds(communication.length());
  result.copies = Grid::milliseconds(copies.length());
  return result;
}

AnalysisRows timelineRows(Trace& trace, const Filter& filter) {
  if (const Status whole = wholeTimeOnly(filter, "tracelens_gpu_timeline"); !whole.ok()) return whole.error();
  auto timelines = traceLensTimelines(trace);
  if (!timelines.ok()) return timelines.error();
  std::vector<CellRow> rows;
  for (const TraceLensTimeline& one : timelines.value()) {
    if (filter.rank && one.rank != filter.rank) continue;
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
    {"tracelens_gpu_timeline", "rank INTEGER, type TEXT, time_ms REAL, percent REAL", timelineRows}};

}  // namespace

Result<std::vector<TraceLensTimeline>> traceLensTimelines(Trace& trace) {
  auto rocm = processesOnRocm(trace);
  if (!rocm.ok()) return rocm.error();
  auto launches = LaunchIndex::load(trace);
  if (!launches.ok()) return launches.error();
  auto devices = loadDeviceTimelines(trace);
  if (!devices.ok()) return devices.error();
  std::vector<TraceLensTimeline> result;
  std::vector<Work> work;
  for (const DeviceTimeline& device : devices.value()) {
    if (result.empty() || result.back().process != device.process) {
      result.emplace_back().process = device.process;
      result.back().rank = device.rank;
      work.emplace_back();
    }
    const Grid grid(trace.info().sessionStartRealtimeNs);
    const bool isRocm = rocm.value().count(device.process) > 0;
    for (const DeviceEvent& event : device.events) {
      if (!launches.value().find(device.process, event.correlation)) continue;
      if (event.table == WorkTable::Set) {
        if (!isRocm) work.back().computation.push_back(grid(event.time));
      } else if (event.kind == GpuEventKind::Communication) {
        work.back().communication.push_back(grid(event.time));
      } else {
        (event.table == WorkTable::Kernel ? work.back().computation : work.back().copies).push_back(grid(event.time));
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
