// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_tables.h"

#include <unordered_map>

#include "analyzer/analyses/operator_times.h"
#include "analyzer/analyses/range_times.h"

namespace plumb {
namespace {

std::unordered_map<ThreadId, int64_t> tidsOf(const Trace& trace) {
  std::unordered_map<ThreadId, int64_t> tids;
  for (const Thread& thread : trace.threads()) tids.emplace(thread.id, thread.tid);
  return tids;
}

template <RangeGrouping grouping>
AnalysisRows rangeRows(Trace& trace, const Filter& filter) {
  auto ranges = totalRanges(trace, filter, grouping);
  if (!ranges.ok()) return ranges.error();
  const auto tids = tidsOf(trace);
  std::vector<CellRow> rows;
  for (RangeTotals& totals : ranges.value()) {
    const auto tid = totals.thread ? tids.find(*totals.thread) : tids.end();
    const auto calls = static_cast<int64_t>(totals.host.count());
    CellRow row{rankOf(trace, totals.process),
                pidOf(trace, totals.process),
                tid == tids.end() ? Cell(nullptr) : Cell(tid->second),
                textCell(trace.text(totals.domain)),
                totals.name,
                cell(totals.depth),
                totals.range ? Cell(totals.range->value()) : Cell(nullptr),
                totals.start ? cell(*totals.start) : Cell(nullptr),
                calls,
                totals.openCount};
    appendStatistics(row, totals.host);
    row.push_back(calls > 0 ? cell(totals.self) : Cell(nullptr));
    row.emplace_back(totals.gpuEventCount);
    row.emplace_back(static_cast<int64_t>(totals.gpuSpan.count()));
    appendStatistics(row, totals.gpuSpan);
    const bool launched = totals.gpuEventCount > 0;
    row.push_back(launched ? cell(totals.gpuBusy) : Cell(nullptr));
    row.push_back(launched ? cell(totals.gpuTotal) : Cell(nullptr));
    row.push_back(totals.gpuStart ? cell(*totals.gpuStart) : Cell(nullptr));
    rows.push_back(std::move(row));
  }
  return rows;
}

template <OperatorGrouping grouping>
AnalysisRows operatorRows(Trace& trace, const Filter& filter) {
  auto operators = totalOperators(trace, filter, grouping);
  if (!operators.ok()) return operators.error();
  std::vector<CellRow> rows;
  for (OperatorTotals& totals : operators.value()) {
    const SampleStatistics cpu = totals.cpu.statistics();
    rows.push_back({rankOf(trace, totals.process), pidOf(trace, totals.process), textCell(trace.text(totals.name)),
                    totals.shape.empty() ? Cell(nullptr) : Cell(totals.shape), textCell(totals.source), cpu.count,
                    cell(totals.cpuSelf), cpu.total, cpu.mean, cell(totals.gpuSelf), cell(totals.gpuTotal),
                    totals.gpuEventCount});
  }
  return rows;
}

constexpr const char* kRangeColumns =
    "rank INTEGER, pid INTEGER, tid INTEGER, domain TEXT, name TEXT, depth INTEGER, range_id INTEGER, start_ns "
    "INTEGER, calls INTEGER, open INTEGER, total_ns INTEGER, avg_ns REAL, median_ns REAL, min_ns INTEGER, max_ns "
    "INTEGER, stddev_ns REAL, self_ns INTEGER, gpu_events INTEGER, gpu_ranges INTEGER, gpu_span_ns INTEGER, "
    "gpu_span_avg_ns REAL, gpu_span_median_ns REAL, gpu_span_min_ns INTEGER, gpu_span_max_ns INTEGER, "
    "gpu_span_stddev_ns REAL, gpu_busy_ns INTEGER, gpu_total_ns INTEGER, gpu_start_ns INTEGER";
constexpr const char* kOperatorColumns =
    "rank INTEGER, pid INTEGER, name TEXT, shape TEXT, source TEXT, calls INTEGER, cpu_self_ns INTEGER, cpu_total_ns "
    "INTEGER, cpu_avg_ns REAL, gpu_self_ns INTEGER, gpu_total_ns INTEGER, gpu_events INTEGER";

constexpr AnalysisTable kTables[] = {
    {"analysis_ranges", kRangeColumns, rangeRows<RangeGrouping::Name>},
    {"analysis_ranges_by_path", kRangeColumns, rangeRows<RangeGrouping::Path>},
    {"analysis_ranges_by_instance", kRangeColumns, rangeRows<RangeGrouping::Instance>},
    {"analysis_ranges_all_threads", kRangeColumns, rangeRows<RangeGrouping::AllThreads>},
    {"analysis_ops", kOperatorColumns, operatorRows<OperatorGrouping::Name>},
    {"analysis_ops_by_shape", kOperatorColumns, operatorRows<OperatorGrouping::Shape>},
};

}  // namespace

std::span<const AnalysisTable> hostTables() { return kTables; }

}  // namespace plumb
