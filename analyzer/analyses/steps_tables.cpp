// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/steps_tables.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "analyzer/analyses/steps.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

bool holds(const IntervalSet& windows, TimePoint t) {
  return std::ranges::any_of(windows.parts(), [t](const Interval& part) { return part.contains(t); });
}

// Where the time went that `part` tells; null: not known.
CellRow rowOf(const Trace& trace, const RankSteps& rank, const Step& step, std::optional<DeviceId> device,
              const Breakdown* part) {
  CellRow row{cell(rank.rank),
              pidOf(trace, rank.process),
              ordinalOf(trace, device),
              step.number,
              textCell(nameOf(rank.source)),
              int64_t{step.isWarmup},
              rank.source == StepSource::Declared ? cell(step.host.length()) : Cell(nullptr),
              step.startToStart ? cell(*step.startToStart) : Cell(nullptr)};
  if (!part) return row;
  const Breakdown& b = *part;
  for (const Cell& value :
       {cell(b.window.start), cell(b.span), cell(b.busy), cell(b.compute), cell(b.communication), cell(b.overlap),
        cell(b.exposedCommunication), cell(b.memory), cell(b.exposedMemory), cell(b.idle)}) {
    row.push_back(value);
  }
  return row;
}

// A step belongs to the filter when it begins inside its windows, on the GPU or else on the host.
Result<std::vector<CellRow>> rowsOfSteps(
    Trace& trace, const Filter& filter,
    const std::function<void(const RankSteps&, const Step&, std::vector<CellRow>&)>& add) {
  Filter rest = filter;
  rest.step.reset();
  auto windows = findWindows(trace, rest);
  if (!windows.ok()) return windows.error();
  auto ranks = findSteps(trace);
  if (!ranks.ok()) return ranks.error();
  std::vector<CellRow> rows;
  for (const RankSteps& rank : ranks.value()) {
    const auto mine = std::ranges::find(windows.value(), rank.process, &ProcessWindows::process);
    if (mine == windows.value().end()) continue;
    for (const Step& step : rank.steps) {
      if (filter.step && step.number != *filter.step) continue;
      if (!(step.gpu ? holds(mine->gpu, step.gpu->window.start) : holds(mine->host, step.host.start))) continue;
      add(rank, step, rows);
    }
  }
  return rows;
}

AnalysisRows stepRows(Trace& trace, const Filter& filter) {
  return rowsOfSteps(trace, filter, [&](const RankSteps& rank, const Step& step, std::vector<CellRow>& rows) {
    std::optional<DeviceId> only;
    if (rank.devices.size() == 1) only = rank.devices.front();
    CellRow row = rowOf(trace, rank, step, only, step.gpu ? &*step.gpu : nullptr);
    if (step.gpu) {
      const double within = static_cast<double>(std::max<int64_t>(step.gpuEventsWithin, 1));
      row.emplace_back(step.gpuEventCount);
      row.emplace_back(std::min(100.0, 100.0 * static_cast<double>(step.gpuEventCount) / within));
    }
    rows.push_back(std::move(row));
  });
}

AnalysisRows stepDeviceRows(Trace& trace, const Filter& filter) {
  return rowsOfSteps(trace, filter, [&](const RankSteps& rank, const Step& step, std::vector<CellRow>& rows) {
    for (size_t i = 0; i < step.parts.size(); ++i) {
      rows.push_back(rowOf(trace, rank, step, rank.devices[i], &step.parts[i]));
    }
  });
}

#define PLUMB_STEP_COLUMNS                                                                                 \
  "rank INTEGER, pid INTEGER, device INTEGER, step INTEGER, source TEXT, warmup INTEGER, host_ns INTEGER," \
  " start_to_start_ns INTEGER, start_ns INTEGER, span_ns INTEGER, busy_ns INTEGER, compute_ns INTEGER,"    \
  " communication_ns INTEGER, overlap_ns INTEGER, exposed_communication_ns INTEGER, memory_ns INTEGER,"    \
  " exposed_memory_ns INTEGER, idle_ns INTEGER"

constexpr AnalysisTable kTables[] = {
    {"analysis_steps", PLUMB_STEP_COLUMNS ", gpu_events INTEGER, coverage_pct REAL", stepRows},
    {"analysis_step_devices", PLUMB_STEP_COLUMNS, stepDeviceRows},
};

#undef PLUMB_STEP_COLUMNS

}  // namespace

std::span<const AnalysisTable> stepsTables() noexcept { return kTables; }

}  // namespace plumb
