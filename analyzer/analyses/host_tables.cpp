// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_tables.h"

#include <unordered_map>

#include "analyzer/analyses/blocking_calls.h"
#include "analyzer/analyses/event_totals.h"
#include "analyzer/analyses/host_waits.h"
#include "analyzer/analyses/operator_times.h"
#include "analyzer/analyses/range_times.h"
#include "analyzer/analyses/torch_ranges.h"
#include "analyzer/analyses/trace_health.h"

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
    const bool isCalled = cpu.count > 0;
    rows.push_back({rankOf(trace, totals.process), pidOf(trace, totals.process), textCell(totals.name),
                    totals.shape.empty() ? Cell(nullptr) : Cell(totals.shape), textCell(totals.source), cpu.count,
                    isCalled ? cell(totals.cpuSelf) : Cell(nullptr), isCalled ? Cell(cpu.total) : Cell(nullptr),
                    isCalled ? Cell(cpu.mean) : Cell(nullptr), cell(totals.gpuSelf), cell(totals.gpuTotal),
                    totals.gpuEventCount});
  }
  return rows;
}

template <CallGrouping grouping>
AnalysisRows callRows(Trace& trace, const Filter& filter) {
  auto totals = totalCalls(trace, filter, grouping);
  if (!totals.ok()) return totals.error();
  const auto tids = tidsOf(trace);
  std::vector<CellRow> rows;
  for (EventTotals& group : totals.value()) {
    const auto tid = group.thread ? tids.find(*group.thread) : tids.end();
    CellRow row{rankOf(trace, group.process),
                pidOf(trace, group.process),
                textCell(trace.text(group.name)),
                group.detail,
                tid == tids.end() ? Cell(nullptr) : Cell(tid->second),
                static_cast<int64_t>(group.durations.count()),
                group.failedCount};
    appendStatistics(row, group.durations);
    rows.push_back(std::move(row));
  }
  return rows;
}

CellRow waitCells(Trace& trace, const HostWait& wait, const std::unordered_map<ThreadId, int64_t>& tids,
                  const std::unordered_map<StreamId, int64_t>& streams) {
  const auto tid = wait.thread ? tids.find(*wait.thread) : tids.end();
  const auto stream = wait.stream ? streams.find(*wait.stream) : streams.end();
  const auto name = [&](std::optional<StringId> id) { return id ? textCell(trace.text(*id)) : Cell(nullptr); };
  return {rankOf(trace, wait.process),
          pidOf(trace, wait.process),
          tid == tids.end() ? Cell(nullptr) : Cell(tid->second),
          name(wait.call),
          textCell(nameOf(wait.what)),
          stream == streams.end() ? Cell(nullptr) : Cell(stream->second),
          wait.range ? textCell(placeName(trace.text(*wait.range))) : Cell(nullptr),
          name(wait.op)};
}

std::unordered_map<StreamId, int64_t> streamNumbersOf(const Trace& trace) {
  std::unordered_map<StreamId, int64_t> numbers;
  for (const Stream& stream : trace.streams()) numbers.emplace(stream.id, stream.number);
  return numbers;
}

void appendCost(CellRow& row, const std::optional<HostWait::Cost>& cost) {
  row.push_back(cost ? cell(cost->causedIdle) : Cell(nullptr));
  row.push_back(cost ? cell(cost->exposedHost) : Cell(nullptr));
  row.push_back(cost ? cell(cost->avoidable) : Cell(nullptr));
  row.push_back(cost ? cell(cost->refill) : Cell(nullptr));
}

template <WaitGrouping grouping>
AnalysisRows waitRows(Trace& trace, const Filter& filter) {
  auto totals = totalHostWaits(trace, filter, grouping);
  if (!totals.ok()) return totals.error();
  const auto tids = tidsOf(trace);
  const auto streams = streamNumbersOf(trace);
  std::vector<CellRow> rows;
  for (WaitTotals& group : totals.value()) {
    CellRow row = waitCells(trace, group.first, tids, streams);
    if (grouping == WaitGrouping::Call) row[2] = row[5] = row[6] = row[7] = nullptr;
    if (grouping == WaitGrouping::Thread) row[3] = row[4] = row[5] = row[6] = row[7] = nullptr;
    row.emplace_back(nullptr);
    row.emplace_back(static_cast<int64_t>(group.durations.count()));
    appendStatistics(row, group.durations);
    appendCost(row, group.cost);
    rows.push_back(std::move(row));
  }
  return rows;
}

AnalysisRows singleWaitRows(Trace& trace, const Filter& filter) {
  auto waits = findHostWaits(trace, filter);
  if (!waits.ok()) return waits.error();
  const auto tids = tidsOf(trace);
  const auto streams = streamNumbersOf(trace);
  std::vector<CellRow> rows;
  for (const HostWait& wait : waits.value()) {
    CellRow row = waitCells(trace, wait, tids, streams);
    row.push_back(cell(wait.time.start));
    row.emplace_back(int64_t{1});
    Sample one;
    one.add(wait.time.length().ns());
    appendStatistics(row, one);
    appendCost(row, wait.cost);
    rows.push_back(std::move(row));
  }
  return rows;
}

AnalysisRows counterRowsBy(Trace& trace, const Filter& filter, CounterGrouping grouping) {
  auto totals = totalCounters(trace, filter, grouping);
  if (!totals.ok()) return totals.error();
  std::vector<CellRow> rows;
  for (const CounterTotals& counter : totals.value()) {
    rows.push_back({rankOf(trace, counter.process), pidOf(trace, counter.process),
                    counter.range ? textCell(trace.text(*counter.range)) : Cell(nullptr),
                    textCell(trace.text(counter.name)), counter.count, counter.min,
                    counter.sum / static_cast<double>(counter.count), counter.max, counter.first, counter.last,
                    cell(counter.firstTime), cell(counter.lastTime), cell(counter.maxTime)});
  }
  return rows;
}

AnalysisRows counterRows(Trace& trace, const Filter& filter) {
  return counterRowsBy(trace, filter, CounterGrouping::Name);
}

AnalysisRows rangeCounterRows(Trace& trace, const Filter& filter) {
  return counterRowsBy(trace, filter, CounterGrouping::Range);
}

AnalysisRows healthRows(Trace& trace, const Filter& filter) {
  auto findings = checkHealth(trace, filter);
  if (!findings.ok()) return findings.error();
  std::vector<CellRow> rows;
  for (const HealthFinding& finding : findings.value()) {
    rows.push_back({textCell(nameOf(finding.severity)),
                    finding.process ? rankOf(trace, *finding.process) : Cell(nullptr),
                    finding.process ? pidOf(trace, *finding.process) : Cell(nullptr), finding.check, finding.subject,
                    cell(finding.value), finding.unit, finding.message});
  }
  return rows;
}

AnalysisRows coverageRows(Trace& trace, const Filter& filter) {
  auto steps = measureCoverage(trace, filter);
  if (!steps.ok()) return steps.error();
  std::vector<CellRow> rows;
  for (const StepCoverage& step : steps.value()) {
    rows.push_back({rankOf(trace, step.process), pidOf(trace, step.process), cell(step.step), step.gpuEventCount,
                    step.withoutLaunchCount, step.launchCount, step.withoutWorkCount});
  }
  return rows;
}

AnalysisRows blockingRows(Trace& trace, const Filter& filter) {
  auto calls = findBlockingCalls(trace, filter);
  if (!calls.ok()) return calls.error();
  std::vector<CellRow> rows;
  for (const BlockingCalls& group : calls.value()) {
    rows.push_back({rankOf(trace, group.process), pidOf(trace, group.process), textCell(nameOf(group.kind)),
                    group.range ? textCell(placeName(trace.text(*group.range))) : Cell(nullptr), group.count,
                    cell(group.bytes), cell(group.blocked), cell(group.idle), cell(group.copying),
                    cell(group.time.start), cell(group.time.end), group.firstRow, group.lastRow});
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
constexpr const char* kCallColumns =
    "rank INTEGER, pid INTEGER, name TEXT, layer TEXT, tid INTEGER, calls INTEGER, failed INTEGER, total_ns INTEGER, "
    "avg_ns REAL, median_ns REAL, min_ns INTEGER, max_ns INTEGER, stddev_ns REAL";
constexpr const char* kWaitColumns =
    "rank INTEGER, pid INTEGER, tid INTEGER, api TEXT, waits_for TEXT, stream INTEGER, in_range TEXT, op TEXT, "
    "start_ns "
    "INTEGER, waits INTEGER, total_ns INTEGER, avg_ns REAL, median_ns REAL, min_ns INTEGER, max_ns INTEGER, stddev_ns "
    "REAL, gpu_idle_ns INTEGER, exposed_host_ns INTEGER, avoidable_ns INTEGER, refill_ns INTEGER";

constexpr const char* kCounterColumns =
    "rank INTEGER, pid INTEGER, in_range TEXT, name TEXT, samples INTEGER, min REAL, avg REAL, max REAL, first REAL,"
    " last REAL, first_time_ns INTEGER, last_time_ns INTEGER, max_time_ns INTEGER";

constexpr AnalysisTable kTables[] = {
    {"analysis_ranges", kRangeColumns, rangeRows<RangeGrouping::Name>},
    {"analysis_ranges_by_path", kRangeColumns, rangeRows<RangeGrouping::Path>},
    {"analysis_ranges_by_instance", kRangeColumns, rangeRows<RangeGrouping::Instance>},
    {"analysis_ranges_own_thread", kRangeColumns, rangeRows<RangeGrouping::OwnThread>},
    {"analysis_ranges_all_threads", kRangeColumns, rangeRows<RangeGrouping::AllThreads>},
    {"analysis_ops", kOperatorColumns, operatorRows<OperatorGrouping::Name>},
    {"analysis_ops_by_shape", kOperatorColumns, operatorRows<OperatorGrouping::Shape>},
    {"analysis_api", kCallColumns, callRows<CallGrouping::Name>},
    {"analysis_api_by_thread", kCallColumns, callRows<CallGrouping::Thread>},
    {"analysis_synchronizations", kWaitColumns, waitRows<WaitGrouping::Site>},
    {"analysis_synchronizations_by_thread", kWaitColumns, waitRows<WaitGrouping::Thread>},
    {"analysis_synchronizations_by_call", kWaitColumns, waitRows<WaitGrouping::Call>},
    {"analysis_synchronizations_by_instance", kWaitColumns, singleWaitRows},
    {"analysis_blocking_calls",
     "rank INTEGER, pid INTEGER, kind TEXT, in_range TEXT, calls INTEGER, bytes INTEGER, blocked_ns INTEGER, idle_ns "
     "INTEGER, "
     "copying_ns INTEGER, start_ns "
     "INTEGER, end_ns INTEGER, first_id INTEGER, last_id INTEGER",
     blockingRows},
    {"analysis_counters", kCounterColumns, counterRows},
    {"analysis_counters_by_range", kCounterColumns, rangeCounterRows},
    {"analysis_health",
     "severity TEXT, rank INTEGER, pid INTEGER, check_name TEXT, subject TEXT, value REAL, unit TEXT, message TEXT",
     healthRows},
    {"analysis_coverage",
     "rank INTEGER, pid INTEGER, step INTEGER, gpu_events INTEGER, without_launch INTEGER, launches INTEGER, "
     "without_work INTEGER",
     coverageRows},
};

}  // namespace

std::span<const AnalysisTable> hostTables() { return kTables; }

}  // namespace plumb
