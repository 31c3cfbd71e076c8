// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyzer/analyses/hta/hta_breakdown.h"
#include "analyzer/analyses/hta/hta_critical_path.h"
#include "analyzer/analyses/hta/hta_launches.h"
#include "analyzer/analyses/hta/hta_stragglers.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

AnalysisRows temporalRows(Trace& trace, const Filter& filter) {
  auto run = hta::load(trace, filter);
  if (!run.ok()) return run.error();
  std::vector<CellRow> rows;
  for (const hta::Rank& rank : run.value().ranks) {
    const auto time = hta::temporalBreakdown(rank);
    if (!time) continue;
    const auto percent = [&](int64_t part) {
      return time->kernel == 0
                 ? Cell(nullptr)
                 : Cell(hta::rounded(100 * (static_cast<double>(part) / static_cast<double>(time->kernel)), 2));
    };
    rows.push_back({cell(rank.rank), time->idle, time->compute, time->nonCompute, time->kernel, percent(time->idle),
                    percent(time->compute), percent(time->nonCompute)});
  }
  return rows;
}

AnalysisRows overlapRows(Trace& trace, const Filter& filter) {
  auto run = hta::load(trace, filter);
  if (!run.ok()) return run.error();
  std::vector<CellRow> rows;
  for (const hta::Rank& rank : run.value().ranks) rows.push_back({cell(rank.rank), cell(hta::overlapPercent(rank))});
  return rows;
}

AnalysisRows idleRows(Trace& trace, const Filter& filter) {
  auto run = hta::load(trace, filter);
  if (!run.ok()) return run.error();
  std::vector<CellRow> rows;
  for (const hta::Rank& rank : run.value().ranks) {
    for (const hta::StreamIdle& idle : hta::idleTime(rank)) {
      rows.push_back({cell(rank.rank), idle.stream, textCell(idle.category), idle.time, cell(idle.ratio)});
    }
  }
  return rows;
}

AnalysisRows kernelTypeRows(Trace& trace, const Filter& filter) {
  auto run = hta::load(trace, filter);
  if (!run.ok()) return run.error();
  std::vector<std::pair<std::string, int64_t>> times;
  int64_t total = 0;
  for (const auto& [name, time] : hta::kernelTypeTimes(run.value().ranks)) {
    times.emplace_back(name, time);
    total += time;
  }
  std::stable_sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<CellRow> rows;
  for (const auto& [name, time] : times) {
    const double share = static_cast<double>(time) / static_cast<double>(total);
    rows.push_back({name, time, total == 0 ? Cell(nullptr) : Cell(hta::rounded(share * 100, 1))});
  }
  return rows;
}

// nameCount: how many names are kept (num_kernels).
template <size_t nameCount>
AnalysisRows kernelRows(Trace& trace, const Filter& filter) {
  auto run = hta::load(trace, filter);
  if (!run.ok()) return run.error();
  std::vector<CellRow> rows;
  for (const hta::Rank& rank : run.value().ranks) {
    for (const hta::KernelRow& kernel : hta::kernelBreakdown(run.value(), rank, nameCount)) {
      rows.push_back({cell(rank.rank), textCell(hta::nameOf(kernel.type)), kernel.name, kernel.sum, kernel.max,
                      kernel.min, kernel.stddev, kernel.mean});
    }
  }
  return rows;
}

AnalysisStore launches(Trace& trace, const Filter& filter) {
  constexpr int64_t kLongCall = 50, kLongDelay = 100;  // us
  auto run = hta::load(trace, filter);
  if (!run.ok()) return run.error();
  RowStore rows;
  for (const hta::Rank& rank : run.value().ranks) {
    for (const hta::LaunchRow& launch : hta::launchStatistics(rank)) {
      rows.startRow();
      rows.add(cell(rank.rank));
      for (const int64_t value : {launch.correlation, launch.cpu, launch.gpu, launch.delay,
                                  int64_t{launch.cpu <= kLongCall && launch.gpu < launch.cpu},
                                  int64_t{launch.cpu > kLongCall}, int64_t{launch.delay > kLongDelay}}) {
        rows.addInteger(value);
      }
    }
  }
  return rows;
}

void append(CellRow& row, const hta::Description& d) {
  for (Cell value :
       {Cell(d.count), Cell(d.mean), cell(d.std), Cell(d.min), Cell(d.p25), Cell(d.p50), Cell(d.p75), Cell(d.max)}) {
    row.push_back(std::move(value));
  }
}

AnalysisRows queueRows(Trace& trace, const Filter& filter) {
  auto run = hta::load(trace, filter);
  if (!run.ok()) return run.error();
  std::vector<CellRow> rows;
  for (const hta::Rank& rank : run.value().ranks) {
    for (const hta::QueueRow& queue : hta::queueLengths(rank)) {
      CellRow row{cell(rank.rank), queue.stream};
      append(row, queue.length);
      row.push_back(queue.blocked);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

AnalysisRows bandwidthRows(Trace& trace, const Filter& filter) {
  auto run = hta::load(trace, filter);
  if (!run.ok()) return run.error();
  std::vector<CellRow> rows;
  for (const hta::Rank& rank : run.value().ranks) {
    for (const auto& [name, bandwidth] : hta::memoryBandwidths(run.value(), rank)) {
      CellRow row{cell(rank.rank), name};
      append(row, bandwidth);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

AnalysisRows stepRows(Trace& trace, const Filter& filter) {
  auto run = hta::load(trace, filter);
  if (!run.ok()) return run.error();
  std::vector<CellRow> rows;
  for (const hta::Rank& rank : run.value().ranks) {
    for (const int64_t step : rank.steps) rows.push_back({cell(rank.rank), step});
  }
  return rows;
}

Result<std::vector<hta::CriticalPath>> loadPaths(Trace& trace, const Filter& filter) {
  hta::Region region;
  region.from = filter.from;
  region.to = filter.to;
  if (filter.range) {
    region.annotation = hta::Annotation{*filter.range, filter.step.value_or(0)};
  } else {
    region.step = filter.step;
  }
  auto paths = hta::criticalPaths(trace, region, filter.rank);
  const bool isLimited = region.annotation || region.step;
  if (!paths.ok() || !isLimited || std::ranges::any_of(paths.value(), &hta::CriticalPath::isThere)) return paths;
  if (const Status known = checkFilter(trace, filter); !known.ok()) return known.error();
  return Error{fmt::format("No rank has {} ranges whose name contains '{}'.", filter.step.value_or(0) + 1,
                           filter.range.value_or(""))};
}

AnalysisRows criticalPathRows(Trace& trace, const Filter& filter) {
  auto paths = loadPaths(trace, filter);
  if (!paths.ok()) return paths.error();
  std::vector<CellRow> rows;
  for (const hta::CriticalPath& path : paths.value()) {
    const auto size = [](size_t value) { return static_cast<int64_t>(value); };
    const auto add = [&](Cell boundBy, Cell time, Cell percent, Cell note) {
      rows.push_back({cell(path.rank), std::move(boundBy), std::move(time), std::move(percent), size(path.nodes),
                      size(path.events), size(path.edges.size()), size(path.graphNodes), size(path.graphEdges),
                      std::move(note)});
    };
    if (!path.problem.empty()) add(nullptr, nullptr, nullptr, path.problem);
    int64_t total = 0;
    for (const auto& [boundBy, time] : path.timeBy()) total += time;
    for (const auto& [boundBy, time] : path.timeBy()) {
      if (boundBy.empty()) continue;
      const double share = static_cast<double>(time) / static_cast<double>(total);
      add(boundBy, time, total == 0 ? Cell(nullptr) : Cell(share * 100), nullptr);
    }
  }
  return rows;
}

AnalysisStore criticalEdges(Trace& trace, const Filter& filter) {
  auto paths = loadPaths(trace, filter);
  if (!paths.ok()) return paths.error();
  RowStore rows;
  const auto addText = [&](std::string_view text) { text.empty() ? rows.addNull() : rows.addText(text); };
  for (const hta::CriticalPath& path : paths.value()) {
    int64_t position = 0;
    for (const hta::PathEdge& edge : path.edges) {
      rows.startRow();
      rows.add(cell(path.rank));
      rows.addInteger(position++);
      addText(hta::nameOf(edge.type));
      rows.addInteger(edge.time);
      addText(path.nameOf(edge));
      addText(hta::nameOf(edge.boundBy));
    }
  }
  return rows;
}

AnalysisRows stragglerRows(Trace& trace, const Filter& filter) {
  auto found = hta::findStragglers(trace, filter);
  if (!found.ok()) return found.error();
  std::vector<CellRow> rows;
  for (const hta::LateStart& one : found.value()) {
    if (filter.rank && one.rank != filter.rank) continue;
    rows.push_back({cell(one.rank), one.iteration, one.stream, one.name, one.start, one.duration, int64_t{one.isLate},
                    int64_t{one.isStraggler}});
  }
  return rows;
}

constexpr const char* kKernelColumns =
    "rank INTEGER, kernel_type TEXT, name TEXT, sum_us REAL, max_us REAL, min_us REAL, stddev_us REAL, mean_us REAL";

constexpr AnalysisTable kTables[] = {
    {"hta_temporal_breakdown",
     "rank INTEGER, idle_time_us INTEGER, compute_time_us INTEGER, non_compute_time_us INTEGER, kernel_time_us INTEGER,"
     " idle_time_pctg REAL, compute_time_pctg REAL, non_compute_time_pctg REAL",
     temporalRows},
    {"hta_overlap", "rank INTEGER, comp_comm_overlap_pctg REAL", overlapRows},
    {"hta_idle_time", "rank INTEGER, stream INTEGER, idle_category TEXT, idle_time_us INTEGER, idle_time_ratio REAL",
     idleRows},
    {"hta_kernel_types", "kernel_type TEXT, sum_us INTEGER, percentage REAL", kernelTypeRows},
    {"hta_kernels", kKernelColumns, kernelRows<10>},
    {"hta_kernels_5", kKernelColumns, kernelRows<5>},
    {"hta_kernels_20", kKernelColumns, kernelRows<20>},
    {"hta_kernels_50", kKernelColumns, kernelRows<50>},
    {"hta_kernels_100", kKernelColumns, kernelRows<100>},
    {"hta_launch_stats",
     "rank INTEGER, correlation INTEGER, cpu_duration_us INTEGER, gpu_duration_us INTEGER, launch_delay_us INTEGER,"
     " short_kernel INTEGER, runtime_outlier INTEGER, launch_delay_outlier INTEGER",
     nullptr, launches},
    {"hta_queue_length",
     "rank INTEGER, stream INTEGER, points INTEGER, mean REAL, std REAL, min REAL, p25 REAL, p50 REAL, p75 REAL,"
     " max REAL, blocked_us INTEGER",
     queueRows},
    {"hta_memory_bandwidth",
     "rank INTEGER, name TEXT, points INTEGER, mean REAL, std REAL, min REAL, p25 REAL, p50 REAL, p75 REAL, max REAL",
     bandwidthRows},
    {"hta_steps", "rank INTEGER, step INTEGER", stepRows},
    {"hta_stragglers",
     "rank INTEGER, step INTEGER, stream INTEGER, name TEXT, normalized_start REAL, normalized_duration REAL,"
     " is_late INTEGER, is_straggler INTEGER",
     stragglerRows},
    {"hta_critical_path",
     "rank INTEGER, bound_by TEXT, duration_us INTEGER, percent REAL, path_nodes INTEGER, path_events INTEGER,"
     " path_edges INTEGER, graph_nodes INTEGER, graph_edges INTEGER, note TEXT",
     criticalPathRows},
    {"hta_critical_path_edges",
     "rank INTEGER, position INTEGER, type TEXT, duration_us INTEGER, name TEXT, bound_by TEXT", nullptr,
     criticalEdges},
};

}  // namespace

std::span<const AnalysisTable> htaTables() noexcept { return kTables; }

}  // namespace plumb
