// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/roofline_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyzer/analyses/fusion_chains.h"
#include "analyzer/analyses/roofline.h"
#include "analyzer/analyses/roofline_step.h"
#include "analyzer/analyses/roofline_work.h"

namespace plumb {
namespace {

Cell percent(std::optional<double> share) { return share ? Cell(*share * 100) : Cell(nullptr); }
Cell textOrNull(std::string_view text) { return text.empty() ? Cell(nullptr) : textCell(text); }
Cell nanoseconds(std::optional<double> seconds) {
  return seconds && *seconds < 1e9 ? Cell(static_cast<int64_t>(*seconds * 1e9 + 0.5)) : Cell(nullptr);
}

AnalysisRows rooflineRows(Trace& trace, const Filter& filter, RooflineBy by) {
  auto devices = analyzeRoofline(trace, filter, by);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (const DeviceRoofline& device : devices.value()) {
    const Cell rank = cell(device.rank), pid = pidOf(trace, device.process), ordinal = ordinalOf(trace, device.device);
    const auto roofCell = [](const Roof* roof) { return roof ? Cell(roof->perSecond) : Cell(nullptr); };
    const auto sourceCell = [](const Roof* roof) { return roof ? textCell(nameOf(roof->source)) : Cell(nullptr); };
    const Roof* memory = device.roof("memory");
    for (const RooflinePoint& p : device.points) {
      const Roof* compute = device.roof(p.precision);
      rows.push_back({rank,
                      pid,
                      ordinal,
                      textOrNull(p.name),
                      p.operation,
                      textCell(nameOf(p.source)),
                      textOrNull(p.precision),
                      int64_t{p.precisionAssumed},
                      p.count,
                      cell(p.duration),
                      p.flops,
                      p.bytes > 0 ? Cell(p.bytes) : Cell(nullptr),
                      cell(p.intensity),
                      cell(p.flopsPerSecond),
                      cell(p.bytesPerSecond),
                      roofCell(compute),
                      sourceCell(compute),
                      percent(p.computeShare),
                      roofCell(memory),
                      sourceCell(memory),
                      percent(p.memoryShare),
                      textCell(nameOf(p.verdict)),
                      textOrNull(remedyFor(p)),
                      textOrNull(p.reason)});
    }
    for (const UnknownWork& work : device.withoutFlops) {
      CellRow row(24, nullptr);
      row[0] = rank;
      row[1] = pid;
      row[2] = ordinal;
      row[3] = work.name;
      row[4] = textOrNull(work.operation);
      row[8] = work.count;
      row[9] = cell(work.duration);
      row[21] = textCell(nameOf(Verdict::CannotSay));
      row[23] = fmt::format("no FLOPs known: {}", work.why.empty() ? device.howToKnowFlops : work.why);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}
AnalysisRows kernelRows(Trace& trace, const Filter& filter) { return rooflineRows(trace, filter, RooflineBy::Kernel); }
AnalysisRows operationRows(Trace& trace, const Filter& filter) {
  return rooflineRows(trace, filter, RooflineBy::Operation);
}

AnalysisRows stepRows(Trace& trace, const Filter& filter) {
  auto steps = stepRooflines(trace, filter);
  if (!steps.ok()) return steps.error();
  std::vector<CellRow> rows;
  for (const StepRoofline& s : steps.value()) {
    rows.push_back({cell(s.rank), pidOf(trace, s.process), s.step, cell(s.span), cell(s.knownTime), s.flops, s.bytes,
                    s.sentBytes, cell(s.memoryIntensity), cell(s.networkIntensity), nanoseconds(s.computeSeconds),
                    nanoseconds(s.memorySeconds), nanoseconds(s.networkSeconds), textOrNull(s.bound),
                    percent(s.boundShare), textCell(s.roofs)});
  }
  return rows;
}

AnalysisRows fusionRows(Trace& trace, const Filter& filter) {
  auto found = findFusionChains(trace, filter);
  if (!found.ok()) return found.error();
  std::vector<CellRow> rows;
  for (const FusionChains& c : found.value()) {
    rows.push_back({cell(c.rank), pidOf(trace, c.process), ordinalOf(trace, c.device), c.operations, c.count,
                    c.kernelCount, cell(c.duration), c.bytes, c.betweenBytes, cell(c.saved), c.longest.start.ns(),
                    c.longest.end.ns(), c.firstKernel, c.lastKernel});
  }
  return rows;
}

AnalysisRows roofRows(Trace& trace, const Filter& filter) {
  const auto roofs = DeviceRoofs::load(trace);
  if (!roofs.ok()) return roofs.error();
  std::vector<CellRow> rows;
  for (const Device& device : trace.devices()) {
    const Process* process = trace.process(device.process);
    if (!process || (filter.rank && process->rank != filter.rank)) continue;
    for (const Roof& roof : roofs.value().of(trace, device.process, device.id)) {
      rows.push_back({cell(process->rank), pidOf(trace, device.process), ordinalOf(trace, device.id), roof.resource,
                      textCell(nameOf(roof.source)), roof.perSecond});
    }
  }
  return rows;
}

constexpr const char* kColumns =
    "rank INTEGER, pid INTEGER, device INTEGER, name TEXT, operation TEXT, source TEXT, precision TEXT,"
    " precision_assumed INTEGER, calls INTEGER, total_ns INTEGER, flops REAL, bytes REAL, intensity REAL,"
    " flops_per_s REAL, bytes_per_s REAL, compute_roof_flops_per_s REAL, compute_roof_source TEXT,"
    " compute_roof_pct REAL, memory_roof_bytes_per_s REAL, memory_roof_source TEXT, memory_roof_pct REAL,"
    " verdict TEXT, remedy TEXT, reason TEXT";

constexpr AnalysisTable kTables[] = {
    {"analysis_roofline", kColumns, kernelRows},
    {"analysis_roofline_ops", kColumns, operationRows},
    {"analysis_roofs", "rank INTEGER, pid INTEGER, device INTEGER, resource TEXT, source TEXT, per_second REAL",
     roofRows},
    {"analysis_fusion_chains",
     "rank INTEGER, pid INTEGER, device INTEGER, operations TEXT, chains INTEGER, kernels INTEGER, total_ns INTEGER,"
     " bytes REAL, between_bytes REAL, saved_ns INTEGER, start_ns INTEGER, end_ns INTEGER, first_kernel_id INTEGER,"
     " last_kernel_id INTEGER",
     fusionRows},
    {"analysis_roofline_step",
     "rank INTEGER, pid INTEGER, step INTEGER, span_ns INTEGER, known_ns INTEGER, flops REAL, bytes REAL,"
     " sent_bytes REAL, memory_intensity REAL, network_intensity REAL, compute_bound_ns INTEGER,"
     " memory_bound_ns INTEGER, network_bound_ns INTEGER, bound TEXT, bound_pct REAL, roofs TEXT",
     stepRows},
};

}  // namespace

std::span<const AnalysisTable> rooflineTables() { return kTables; }

}  // namespace plumb
