// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_tables.h"

#include <algorithm>
#include <utility>

#include "analyzer/analyses/fragmentation.h"
#include "analyzer/analyses/hand_calculation.h"
#include "analyzer/analyses/memory.h"
#include "analyzer/analyses/memory_allocations.h"
#include "analyzer/analyses/memory_growth.h"
#include "analyzer/analyses/memory_inference.h"
#include "analyzer/analyses/memory_series.h"
#include "analyzer/analyses/out_of_memory.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

constexpr size_t kSampleCount = 1000;

// NULL for what is neither declared nor inferred.
Cell sourceCell(MemoryCategory category, bool isDeclared) {
  if (isDeclared) return textCell("declared");
  return category == MemoryCategory::Unattributed ? Cell(nullptr) : textCell("inferred");
}

AnalysisRows peakByCategory(Trace& trace, const Filter& filter) {
  auto memory = analyzeMemory(trace, filter, MemoryDetail::PeakOnly);
  if (!memory.ok()) return memory.error();
  std::vector<CellRow> rows;
  for (const DeviceMemory& device : memory.value().devices) {
    const auto add = [&](MemoryCategory category, bool isDeclared, int64_t bytes) {
      if (bytes == 0) return;
      rows.push_back({cell(device.rank), pidOf(trace, device.process), ordinalOf(trace, device.device),
                      textCell("device"), textCell(nameOf(category)), sourceCell(category, isDeclared), bytes,
                      device.peak.totalBytes, device.peak.time.ns()});
    };
    int64_t unattributed = device.peak.bytes[static_cast<size_t>(MemoryCategory::Unattributed)];
    for (size_t i = 0; i < static_cast<size_t>(MemoryCategory::Unattributed); ++i) {
      add(static_cast<MemoryCategory>(i), true, device.peak.bytes[i]);
      add(static_cast<MemoryCategory>(i), false, device.peak.inferred[i]);
      unattributed -= device.peak.inferred[i];
    }
    add(MemoryCategory::Unattributed, false, unattributed);
  }
  for (const auto& other : memory.value().otherSpaces) {
    for (const SpacePeak& peak : other.spaces) {
      rows.push_back({rankOf(trace, other.process), pidOf(trace, other.process), ordinalOf(trace, peak.device),
                      textCell(peak.space), textCell("unattributed"), nullptr, peak.peakBytes, peak.peakBytes,
                      peak.peakTime.ns()});
    }
  }
  return rows;
}

AnalysisRows seriesRows(Trace& trace, const Filter& filter, std::optional<size_t> sampleCount) {
  auto samples = memorySeries(trace, filter, sampleCount);
  if (!samples.ok()) return samples.error();
  std::vector<CellRow> rows;
  rows.reserve(samples.value().size());
  for (const MemorySample& sample : samples.value()) {
    rows.push_back({cell(sample.rank), pidOf(trace, sample.process), ordinalOf(trace, sample.device), sample.time.ns(),
                    textCell(sample.series), sample.source.empty() ? Cell(nullptr) : textCell(sample.source),
                    sample.bytes});
  }
  return rows;
}
AnalysisRows sampleRows(Trace& trace, const Filter& filter) { return seriesRows(trace, filter, kSampleCount); }
AnalysisRows changeRows(Trace& trace, const Filter& filter) { return seriesRows(trace, filter, std::nullopt); }

AnalysisRows livePeakRows(Trace& trace, const Filter& filter) {
  auto memory = analyzeMemory(trace, filter, MemoryDetail::PeakOnly);
  if (!memory.ok()) return memory.error();
  std::vector<CellRow> rows;
  for (const DeviceMemory& device : memory.value().devices) {
    for (const LiveMemory& live : device.liveAtPeak) {
      rows.push_back({cell(device.rank), pidOf(trace, device.process), ordinalOf(trace, device.device),
                      device.peak.time.ns(), device.peak.totalBytes, textCell(live.name),
                      textCell(nameOf(live.category)), sourceCell(live.category, live.isDeclared), live.bytes,
                      live.since.ns(), live.address == 0 ? Cell(nullptr) : Cell(static_cast<int64_t>(live.address))});
    }
  }
  return rows;
}

AnalysisRows allocationRows(Trace& trace, const Filter& filter) {
  auto groups = groupAllocations(trace, filter);
  if (!groups.ok()) return groups.error();
  std::vector<CellRow> rows;
  for (const AllocationGroup& g : groups.value()) {
    rows.push_back({cell(g.rank), pidOf(trace, g.process), ordinalOf(trace, g.device), textCell(g.space),
                    textCell(g.name), textCell(nameOf(g.category)), sourceCell(g.category, g.isDeclared),
                    g.sizeClassBytes, g.count, g.bytes, g.largestBytes, g.freedCount, cell(g.freedLife),
                    g.liveAtEndBytes});
  }
  return rows;
}

AnalysisRows stepRows(Trace& trace, const Filter& filter) {
  auto devices = memoryGrowth(trace, filter);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (const DeviceGrowth& device : devices.value()) {
    for (size_t i = 0; i < device.steps.size(); ++i) {
      const StepMemory& step = device.steps[i];
      rows.push_back({cell(device.rank), pidOf(trace, device.process), ordinalOf(trace, device.device), step.step,
                      step.end.ns(), step.liveBytes,
                      i == 0 ? Cell(nullptr) : Cell(step.liveBytes - device.steps[i - 1].liveBytes)});
    }
  }
  return rows;
}

AnalysisRows growthRows(Trace& trace, const Filter& filter) {
  auto devices = memoryGrowth(trace, filter);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (const DeviceGrowth& device : devices.value()) {
    const auto compared = static_cast<int64_t>(device.steps.size()) - 1;
    for (const NameGrowth& g : device.names) {
      rows.push_back({cell(device.rank), pidOf(trace, device.process), ordinalOf(trace, device.device),
                      textCell(g.name), g.category ? textCell(nameOf(*g.category)) : Cell(nullptr), compared,
                      g.grewCount, g.firstBytes, g.lastBytes, g.growth(),
                      static_cast<double>(g.growth()) / static_cast<double>(compared), g.survivorCount,
                      g.survivorBytes});
    }
  }
  return rows;
}

AnalysisRows fragmentationRows(Trace& trace, const Filter& filter) {
  auto devices = analyzeFragmentation(trace, filter);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (const DeviceFragmentation& device : devices.value()) {
    for (const FragmentationMoment& m : device.moments) {
      const bool hasFree = m.freeBytes && *m.freeBytes > 0;
      rows.push_back(
          {cell(device.rank), pidOf(trace, device.process), ordinalOf(trace, device.device), textCell(m.what),
           m.time.ns(), cell(m.reservedBytes), m.allocatedBytes,
           m.reservedBytes ? Cell(*m.reservedBytes - m.allocatedBytes) : Cell(nullptr),
           m.reservedBytes && *m.reservedBytes > 0
               ? Cell(100.0 * static_cast<double>(*m.reservedBytes - m.allocatedBytes) /
                      static_cast<double>(*m.reservedBytes))
               : Cell(nullptr),
           cell(m.segmentCount), cell(m.freeBytes), cell(m.largestFreeBytes),
           hasFree ? Cell(100.0 * (1.0 - static_cast<double>(*m.largestFreeBytes) / static_cast<double>(*m.freeBytes)))
                   : Cell(nullptr),
           textCell(nameOf(device.source)), m.message.empty() ? Cell(nullptr) : textCell(m.message)});
    }
  }
  return rows;
}

AnalysisRows outOfMemoryRows(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto moments = findOutOfMemory(trace);
  if (!moments.ok()) return moments.error();
  std::vector<CellRow> rows;
  for (const OutOfMemory& moment : moments.value()) {
    const auto window = std::ranges::find(windows.value(), moment.process, &ProcessWindows::process);
    if (window == windows.value().end() || !window->host.contains(moment.time)) continue;
    const Process* process = trace.process(moment.process);
    rows.push_back({process ? cell(process->rank) : Cell(nullptr), pidOf(trace, moment.process),
                    moment.device ? ordinalOf(trace, *moment.device) : Cell(nullptr), moment.time.ns(), moment.what,
                    cell(moment.call)});
  }
  return rows;
}

AnalysisRows handRows(Trace& trace, const Filter& filter) {
  auto devices = calculateByHand(trace, filter);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (const HandCalculation& hand : devices.value()) {
    const Cell rank = cell(hand.rank), pid = pidOf(trace, hand.process), device = ordinalOf(trace, hand.device);
    if (!hand.parameterCount) {
      rows.push_back({rank, pid, device, nullptr, nullptr, textCell("cannot say: no memory was declared as parameters"),
                      nullptr, nullptr, nullptr, nullptr});
    }
    for (const HandRow& row : hand.rows) {
      rows.push_back({rank, pid, device, cell(hand.parameterCount), hand.shardedOver, textCell(row.component),
                      row.formula.empty() ? Cell(nullptr) : textCell(row.formula), cell(row.expectedBytes),
                      cell(row.measuredBytes), row.note.empty() ? Cell(nullptr) : textCell(row.note)});
    }
  }
  return rows;
}

AnalysisRows inferenceRows(Trace& trace, const Filter& filter) {
  auto measured = measureInference(trace, filter);
  if (!measured.ok()) return measured.error();
  std::vector<CellRow> rows;
  for (const InferenceAccuracy& accuracy : measured.value()) {
    InferenceAccuracy::Category all;
    const auto add = [&](std::string_view name, const InferenceAccuracy::Category& c) {
      rows.push_back({cell(accuracy.rank), pidOf(trace, accuracy.process), textCell(name), c.declaredBytes,
                      c.inferredBytes, c.rightBytes,
                      c.declaredBytes > 0
                          ? Cell(100.0 * static_cast<double>(c.rightBytes) / static_cast<double>(c.declaredBytes))
                          : Cell(nullptr)});
    };
    for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
      const InferenceAccuracy::Category& c = accuracy.categories[i];
      all.declaredBytes += c.declaredBytes;
      all.inferredBytes += c.inferredBytes;
      all.rightBytes += c.rightBytes;
      if (c.declaredBytes > 0 || c.inferredBytes > 0) add(nameOf(static_cast<MemoryCategory>(i)), c);
    }
    add("all", all);
  }
  return rows;
}

constexpr const char* kSeriesColumns =
    "rank INTEGER, pid INTEGER, device INTEGER, start_ns INTEGER, series TEXT, category_source TEXT, bytes INTEGER";

constexpr AnalysisTable kTables[] = {
    {"analysis_memory",
     "rank INTEGER, pid INTEGER, device INTEGER, space TEXT, category TEXT, category_source TEXT, bytes INTEGER,"
     " peak_bytes INTEGER, peak_time_ns INTEGER",
     peakByCategory},
    {"analysis_memory_samples", kSeriesColumns, sampleRows},
    {"analysis_memory_changes", kSeriesColumns, changeRows},
    {"analysis_memory_peak",
     "rank INTEGER, pid INTEGER, device INTEGER, peak_time_ns INTEGER, peak_bytes INTEGER, name TEXT, category TEXT,"
     " category_source TEXT, bytes INTEGER, since_ns INTEGER, address INTEGER",
     livePeakRows},
    {"analysis_memory_allocations",
     "rank INTEGER, pid INTEGER, device INTEGER, space TEXT, name TEXT, category TEXT, category_source TEXT,"
     " size_class_bytes INTEGER, allocations INTEGER, bytes INTEGER, largest_bytes INTEGER, freed INTEGER,"
     " freed_life_ns INTEGER, live_at_end_bytes INTEGER",
     allocationRows},
    {"analysis_memory_steps",
     "rank INTEGER, pid INTEGER, device INTEGER, step INTEGER, end_ns INTEGER, live_bytes INTEGER,"
     " growth_bytes INTEGER",
     stepRows},
    {"analysis_memory_growth",
     "rank INTEGER, pid INTEGER, device INTEGER, name TEXT, category TEXT, steps INTEGER, grew INTEGER,"
     " first_bytes INTEGER, last_bytes INTEGER, growth_bytes INTEGER, growth_bytes_per_step REAL, survivors INTEGER,"
     " survivor_bytes INTEGER",
     growthRows},
    {"analysis_fragmentation",
     "rank INTEGER, pid INTEGER, device INTEGER, moment TEXT, time_ns INTEGER, reserved_bytes INTEGER,"
     " allocated_bytes INTEGER, cached_bytes INTEGER, cached_pct REAL, segments INTEGER, free_bytes INTEGER,"
     " largest_free_bytes INTEGER, fragmentation_pct REAL, reserved_source TEXT, message TEXT",
     fragmentationRows},
    {"analysis_out_of_memory",
     "rank INTEGER, pid INTEGER, device INTEGER, time_ns INTEGER, what TEXT, api_call_id INTEGER", outOfMemoryRows},
    {"analysis_hand_calculation",
     "rank INTEGER, pid INTEGER, device INTEGER, parameters INTEGER, sharded_over INTEGER, component TEXT,"
     " formula TEXT, expected_bytes INTEGER, measured_bytes INTEGER, note TEXT",
     handRows},
    {"analysis_memory_inference",
     "rank INTEGER, pid INTEGER, category TEXT, declared_bytes INTEGER, inferred_bytes INTEGER, right_bytes INTEGER,"
     " accuracy_pct REAL",
     inferenceRows},
};

}  // namespace

std::span<const AnalysisTable> memoryTables() { return kTables; }

}  // namespace plumb
