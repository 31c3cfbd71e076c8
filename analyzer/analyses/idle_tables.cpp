// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/idle_tables.h"

#include <algorithm>
#include <utility>

#include "analyzer/analyses/idle.h"
#include "analyzer/analyses/small_kernels.h"
#include "analyzer/analyses/torch_ranges.h"

namespace plumb {
namespace {

constexpr size_t kLargestGaps = 1000;  // of each device; the others are in the sums only

Cell nameCell(Trace& trace, StringId name) { return name == StringId() ? Cell(nullptr) : textCell(trace.text(name)); }

Cell placeCell(Trace& trace, StringId name) {
  return name == StringId() ? Cell(nullptr) : textCell(placeName(trace.text(name)));
}

Cell workCell(Trace& trace, const DeviceIdle& device, std::optional<size_t> index) {
  if (!index) return nullptr;
  const DeviceEvent& event = device.timeline.events[*index];
  switch (event.table) {
    case WorkKind::Kernel:
      return textCell(trace.text(event.name));
    case WorkKind::Copy:
      return textCell(copyKindName(event.copyKind));
    default:
      return textCell("set");
  }
}

const char* tableOf(const DeviceEvent& event) {
  static constexpr const char* kTables[] = {"kernel", "memory_copy", "memory_set"};
  return kTables[static_cast<size_t>(event.table)];
}

AnalysisRows causeRows(Trace& trace, const Filter& filter) {
  auto devices = findIdle(trace, filter, IdleDetail::Causes);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (const DeviceIdle& device : devices.value()) {
    for (const auto& [key, total] : device.byEvidence) {
      rows.push_back({cell(device.rank), pidOf(trace, device.timeline.process),
                      ordinalOf(trace, device.timeline.device), textCell(nameOf(key.first)),
                      textCell(textOf(key.second)), total.gapCount, cell(total.time), cell(total.largest),
                      cell(device.total)});
    }
  }
  return rows;
}

AnalysisRows rangeRows(Trace& trace, const Filter& filter) {
  auto devices = findIdle(trace, filter);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (const DeviceIdle& device : devices.value()) {
    for (const auto& [key, total] : device.byRange) {
      rows.push_back({cell(device.rank), pidOf(trace, device.timeline.process),
                      ordinalOf(trace, device.timeline.device), placeCell(trace, key.first),
                      textCell(nameOf(key.second)), total.gapCount, cell(total.time), cell(total.largest),
                      cell(device.total)});
    }
  }
  return rows;
}

AnalysisRows gapRows(Trace& trace, const Filter& filter) {
  auto devices = findIdle(trace, filter);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (DeviceIdle& device : devices.value()) {
    const Duration total = device.total;
    std::vector<IdleGap>& gaps = device.gaps;
    const size_t shown = std::min(gaps.size(), kLargestGaps);
    std::partial_sort(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(shown), gaps.end(),
                      [](const IdleGap& a, const IdleGap& b) {
                        return std::make_pair(b.time.length(), a.time.start) <
                               std::make_pair(a.time.length(), b.time.start);
                      });
    gaps.resize(shown);
    for (const IdleGap& gap : gaps) {
      CellRow row{cell(device.rank),
                  pidOf(trace, device.timeline.process),
                  ordinalOf(trace, device.timeline.device),
                  cell(gap.time.start),
                  cell(gap.time.length()),
                  textCell(nameOf(gap.main.cause)),
                  textCell(textOf(gap.main.evidence)),
                  nameCell(trace, gap.main.call),
                  nameCell(trace, gap.main.range),
                  workCell(trace, device, gap.before),
                  workCell(trace, device, gap.after),
                  cell(total)};
      for (const Duration time : gap.byCause) row.push_back(cell(time));
      for (const auto& index : {gap.before, gap.after}) {
        row.push_back(index ? textCell(tableOf(device.timeline.events[*index])) : Cell(nullptr));
        row.push_back(index ? Cell(device.timeline.events[*index].id) : Cell(nullptr));
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

AnalysisRows smallKernelRows(Trace& trace, const Filter& filter) {
  auto found = findSmallKernels(trace, filter);
  if (!found.ok()) return found.error();
  std::vector<CellRow> rows;
  for (const SmallKernels& small : found.value()) {
    rows.push_back({rankOf(trace, small.process), pidOf(trace, small.process), ordinalOf(trace, small.device),
                    small.range ? textCell(placeName(trace.text(*small.range))) : Cell(nullptr), small.count,
                    small.fromGraphs, cell(small.kernelTime), cell(small.gapTime), cell(small.time.start),
                    cell(small.time.end), small.firstKernel, small.lastKernel});
  }
  return rows;
}

constexpr AnalysisTable kTables[] = {
    {"analysis_idle_causes",
     "rank INTEGER, pid INTEGER, device INTEGER, cause TEXT, evidence TEXT, gaps INTEGER, idle_ns INTEGER,"
     " largest_ns INTEGER, device_idle_ns INTEGER",
     causeRows},
    {"analysis_idle_ranges",
     "rank INTEGER, pid INTEGER, device INTEGER, host_range TEXT, cause TEXT, gaps INTEGER, idle_ns INTEGER,"
     " largest_ns INTEGER, device_idle_ns INTEGER",
     rangeRows},
    {"analysis_idle_gaps",
     "rank INTEGER, pid INTEGER, device INTEGER, start_ns INTEGER, idle_ns INTEGER, cause TEXT, evidence TEXT,"
     " host_call TEXT, host_range TEXT, work_before TEXT, work_after TEXT, device_idle_ns INTEGER,"
     " host_synchronization_ns INTEGER, launch_bound_ns INTEGER, data_loading_ns INTEGER, stream_dependency_ns INTEGER,"
     " communication_skew_ns INTEGER, profiler_overhead_ns INTEGER, device_scheduling_ns INTEGER, unknown_ns INTEGER,"
     " before_table TEXT, before_id INTEGER, after_table TEXT, after_id INTEGER",
     gapRows},
    {"analysis_small_kernels",
     "rank INTEGER, pid INTEGER, device INTEGER, in_range TEXT, kernels INTEGER, from_graphs INTEGER, kernel_ns "
     "INTEGER,"
     " gap_ns INTEGER, start_ns INTEGER, end_ns INTEGER, first_id INTEGER, last_id INTEGER",
     smallKernelRows},
};

}  // namespace

std::span<const AnalysisTable> idleTables() noexcept { return kTables; }

}  // namespace plumb
