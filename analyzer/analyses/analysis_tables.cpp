// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/analysis_tables.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyses/analysis_table.h"
#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/collectives_tables.h"
#include "analyzer/analyses/critical_path_tables.h"
#include "analyzer/analyses/host_tables.h"
#include "analyzer/analyses/hta/hta_tables.h"
#include "analyzer/analyses/idle_tables.h"
#include "analyzer/analyses/kernel_tables.h"
#include "analyzer/analyses/memory_tables.h"
#include "analyzer/analyses/roofline_tables.h"
#include "analyzer/analyses/steps_tables.h"
#include "analyzer/analyses/stuck_tables.h"
#include "analyzer/analyses/tracelens.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/trace/shared_loads.h"
#include "analyzer/trace/table_function.h"

namespace plumb {
namespace {

AnalysisRows breakdownRows(Trace& trace, const Filter& filter) {
  auto devices = breakDown(trace, filter);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (const DeviceBreakdown& device : devices.value()) {
    const Breakdown& b = device.whole;
    rows.push_back({cell(device.rank), pidOf(trace, device.process), ordinalOf(trace, device.device), cell(b.span),
                    cell(b.busy), cell(b.compute), cell(b.communication), cell(b.overlap), cell(b.exposedCommunication),
                    cell(b.memory), cell(b.exposedMemory), cell(b.idle),
                    textCell(device.communicationSource == CommunicationSource::Records ? "records" : "names"),
                    device.untimedEventCount});
  }
  return rows;
}

AnalysisRows windowRows(Trace& trace, const Filter& filter, IntervalSet ProcessWindows::*side) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  std::vector<CellRow> rows;
  for (const ProcessWindows& process : windows.value()) {
    for (const Interval& part : (process.*side).parts()) {
      rows.push_back({process.process.value(), rankOf(trace, process.process), cell(part.start), cell(part.end)});
    }
  }
  return rows;
}
AnalysisRows hostWindowRows(Trace& trace, const Filter& filter) {
  return windowRows(trace, filter, &ProcessWindows::host);
}
AnalysisRows gpuWindowRows(Trace& trace, const Filter& filter) {
  return windowRows(trace, filter, &ProcessWindows::gpu);
}

// Not every analysis looks at the ranks itself; a step or range is looked for by those that take one.
AnalysisStore checkedRows(Trace& trace, const Filter& filter, const AnalysisTable& table) {
  Filter rank;
  rank.rank = filter.rank;
  if (const Status known = checkFilter(trace, rank); !known.ok()) return known.error();
  if (table.store) return table.store(trace, filter);
  const auto rows = table.rows(trace, filter);
  if (!rows.ok()) return rows.error();
  RowStore store;
  for (const CellRow& row : rows.value()) store.add(row);
  return store;
}

// The view that analyses read, if only to find a filter's step.
constexpr const char* kReads = "steps";

AnalysisRows processRows(Trace& trace, const Filter& filter) {
  std::vector<CellRow> rows;
  for (const Process& process : trace.processes()) {
    if (filter.rank && process.rank != filter.rank) continue;
    rows.push_back({process.id.value(), cell(process.rank), pidOf(trace, process.id)});
  }
  return rows;
}

constexpr const char* kWindowColumns = "process_id INTEGER, rank INTEGER, start_ns INTEGER, end_ns INTEGER";

constexpr AnalysisTable kTables[] = {
    {"host_window", kWindowColumns, hostWindowRows},
    {"gpu_window", kWindowColumns, gpuWindowRows},
    {"analysis_processes", "id INTEGER, rank INTEGER, pid INTEGER", processRows},
    {"analysis_breakdown",
     "rank INTEGER, pid INTEGER, device INTEGER, span_ns INTEGER, busy_ns INTEGER, compute_ns INTEGER, "
     "communication_ns INTEGER,"
     " overlap_ns INTEGER, exposed_communication_ns INTEGER, memory_ns INTEGER, exposed_memory_ns INTEGER, idle_ns "
     "INTEGER,"
     " communication_by TEXT, untimed INTEGER",
     breakdownRows},
};

}  // namespace

Cell rankOf(const Trace& trace, ProcessId id) {
  const Process* process = trace.process(id);
  return process ? cell(process->rank) : Cell(nullptr);
}
Cell pidOf(const Trace& trace, ProcessId id) {
  if (const SharedLoads* loads = trace.sharedLoads(); loads && !loads->pids().empty()) {
    const auto standIn = loads->pids().find(id);
    if (standIn != loads->pids().end()) return standIn->second;
  }
  const Process* process = trace.process(id);
  return process ? Cell(process->pid) : Cell(nullptr);
}
Cell ordinalOf(const Trace& trace, std::optional<DeviceId> id) {
  const Device* device = id ? trace.device(*id) : nullptr;
  return device ? Cell(device->ordinal) : Cell(nullptr);
}

Status registerAnalysisTables(Trace& trace) {
  const std::span<const AnalysisTable> kFamilies[] = {
      kTables,     collectivesTables(), hostTables(),         kernelTables(),    idleTables(),   stuckTables(),
      htaTables(), stepsTables(),       criticalPathTables(), traceLensTables(), memoryTables(), rooflineTables()};
  for (const std::span<const AnalysisTable> family : kFamilies) {
    for (const AnalysisTable& table : family) {
      Status added = addTableWhenNamed(trace.database(), table.name, kReads, [&trace, &table] {
        return trace.database().addTable(
            ComputedTable{table.name, table.columns,
                          [&trace, &table](const Filter& filter) { return checkedRows(trace, filter, table); }});
      });
      if (!added.ok()) return added;
    }
  }
  return Unit{};
}

}  // namespace plumb
