// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/event_totals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "analyzer/analyses/analysis_tables.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(Sample, IsDescribedAsStatisticiansDo) {
  Sample sample;
  for (const int64_t value : {5, 1, 3, 7}) sample.add(value);
  const SampleStatistics s = sample.statistics();
  EXPECT_EQ(s.count, 4);
  EXPECT_EQ(s.total, 16);
  EXPECT_DOUBLE_EQ(s.mean, 4);
  EXPECT_DOUBLE_EQ(s.median, 4);
  EXPECT_EQ(s.shortest, 1);
  EXPECT_EQ(s.longest, 7);
  EXPECT_NEAR(*s.stddev, 2.5819888974716112, 1e-12);
  Sample one;
  one.add(9);
  EXPECT_DOUBLE_EQ(one.statistics().median, 9);
  EXPECT_EQ(one.statistics().stddev, std::nullopt);
  EXPECT_EQ(Sample().statistics().count, 0);
}

TEST(Sample, SumsThatDoNotFitStayTheLargest) {
  Sample sample;
  for (int i = 0; i < 8; ++i) sample.add(kLargestTimeNs);
  EXPECT_EQ(sample.statistics().total, INT64_MAX);
}

TEST(Kernels, ByNameGridRangeAndOperator) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(0, 10), "gemm");
    trace.addApiCall(rank.process, rank.thread, 100, 5, "cudaLaunchKernel", 1);
    trace.addKernel(rank.work(120, 30, 1), "gemm");
    trace.addKernel(rank.work(200, 1000, 0, 1), "untimed");
    trace.execute("UPDATE kernel SET grid_x = 7 WHERE start_ns = 120");
    const int64_t range = trace.addRange(rank.process, rank.thread, 90, 50, "projection", 1);
    trace.addPayload(range, "flops", int64_t{1});
    trace.addRange(rank.process, rank.thread, 80, 100, "forward", 0);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  auto byName = valueOf(groupKernels(trace, {}, KernelGrouping::Name));
  ASSERT_EQ(byName.size(), 1u);
  EXPECT_EQ(byName[0].durations.statistics().total, 40);
  EXPECT_EQ(trace.text(valueOf(groupKernels(trace, {}, KernelGrouping::FullName))[0].name), "void gemm(float*)");
  EXPECT_EQ(trace.text(valueOf(groupKernels(trace, {}, KernelGrouping::MangledName))[0].name), "_Zgemm");
  const auto byGrid = valueOf(groupKernels(trace, {}, KernelGrouping::Grid));
  ASSERT_EQ(byGrid.size(), 2u);
  EXPECT_EQ(byGrid[0].detail, "7x1x1 blocks of 256x1x1");
  const auto byRange = valueOf(groupKernels(trace, {}, KernelGrouping::Range));
  ASSERT_EQ(byRange.size(), 2u);
  EXPECT_EQ(byRange[0].detail, "projection");
  EXPECT_EQ(byRange[1].detail, "");
  EXPECT_EQ(valueOf(groupKernels(trace, {}, KernelGrouping::Operator))[0].detail, "projection");
  Filter filter;
  filter.from = TimePoint(100);
  EXPECT_EQ(valueOf(groupKernels(trace, filter, KernelGrouping::Name))[0].durations.count(), 1u);
}

// A range's work is what it launched: on the GPU it may run after the next range has begun on the host.
TEST(Kernels, OfARangeAreThoseThatItLaunched) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRange(rank.process, rank.thread, 0, 100, "backward");
    trace.addRange(rank.process, rank.thread, 100, 100, "optimizer");
    const auto launch = [&](int64_t at, const TraceBuilder::Work& work, const char* name) {
      trace.addApiCall(rank.process, rank.thread, at, 5, "cudaLaunchKernel", work.correlation);
      trace.addKernel(work, name);
    };
    launch(10, rank.work(1000, 100, 1), "gemm");
    launch(20, rank.work(1500, 100, 2), "gemm");
    launch(110, rank.otherWork(1200, 100, 3), "adamw");          // runs between the two of backward
    trace.addKernel(rank.otherWork(1300, 50, 4), "graph node");  // its launch is not in the trace
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto namesIn = [&](const Filter& filter) {
    std::vector<std::string> names;
    for (const EventTotals& kernel : valueOf(groupKernels(trace, filter, KernelGrouping::Name))) {
      names.emplace_back(trace.text(kernel.name));
    }
    return names;
  };
  Filter filter;
  filter.range = "backward";
  EXPECT_EQ(namesIn(filter), (std::vector<std::string>{"gemm", "graph node"}));
  filter.to = TimePoint(1100);
  EXPECT_EQ(valueOf(groupKernels(trace, filter, KernelGrouping::Name)).at(0).durations.count(), 1u);
  filter = {};
  filter.range = "optimizer";
  EXPECT_EQ(namesIn(filter), std::vector<std::string>{"adamw"});
}

TEST(Calls, CountThoseThatFailed) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addApiCall(rank.process, rank.thread, 0, 5, "cudaMalloc", 1);
    trace.addApiCall(rank.process, trace.addThread(rank.process), 10, 7, "cudaMalloc", 2);
    trace.execute("UPDATE api_call SET result = 2 WHERE start_ns = 10");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto byName = valueOf(totalCalls(trace, {}, CallGrouping::Name));
  ASSERT_EQ(byName.size(), 1u);
  EXPECT_EQ(byName[0].failedCount, 1);
  EXPECT_EQ(valueOf(totalCalls(trace, {}, CallGrouping::Thread)).size(), 2u);
}

TEST(Copies, BySizeClass) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addCopy(rank.work(0, 10), 100);
    trace.addCopy(rank.work(20, 10), 1 << 20);
    trace.addSet(rank.work(40, 10), 1 << 30);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_EQ(valueOf(totalCopies(trace, {}, CopyGrouping::Kind)).size(), 2u);
  const auto bySize = valueOf(totalCopies(trace, {}, CopyGrouping::Size));
  ASSERT_EQ(bySize.size(), 3u);
  EXPECT_STREQ(kSizeClasses[*bySize[0].sizeClass].name, "under 4 KiB");
  EXPECT_STREQ(kSizeClasses[*bySize[1].sizeClass].name, "1 to 16 MiB");
  EXPECT_STREQ(kSizeClasses[*bySize[2].sizeClass].name, "256 MiB and more");
  EXPECT_DOUBLE_EQ(bySize[0].fastest, 1e10);
}

TEST(Copies, OfUnknownSizeHaveNeitherATotalNorABandwidth) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (int64_t i = 0; i < 2; ++i) trace.addCopy(rank.work(i * 20, 10), 0);  // 0: not recorded
    trace.addSet(rank.work(40, 10), 100);
    trace.addSet(rank.work(60, 10), 0);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  valueOf(registerAnalysisTables(trace));
  auto row = valueOf(trace.query(
      "SELECT name, calls, total_bytes, median_bytes, bandwidth_bytes_per_s, best_bytes_per_s FROM analysis_copies"
      " ORDER BY name"));
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row.integer(1), 2);
  for (int column = 2; column < 6; ++column) EXPECT_TRUE(row.isNull(column)) << row.columnName(column);
  ASSERT_TRUE(row.next());
  EXPECT_TRUE(row.isNull(2)) << "of one of the sets it is not known";
  EXPECT_EQ(row.real(3), 100);
  EXPECT_TRUE(row.isNull(4));
  const auto bySize = valueOf(totalCopies(trace, {}, CopyGrouping::Size));
  EXPECT_EQ(std::ranges::count_if(bySize, [](const CopyTotals& one) { return !one.sizeClass; }), 2);
}

TEST(Copies, ByDirectionAreThoseOfAllProcesses) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank first(trace), second(trace, 1);
    trace.addCopy(first.work(0, 10), 100);
    trace.addCopy(second.work(20, 30), 300);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  auto copies = valueOf(totalCopies(trace, {}, CopyGrouping::Direction));
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].bytes, 400);
  EXPECT_EQ(copies[0].durations.statistics().total, 40);
  EXPECT_DOUBLE_EQ(copies[0].sizes.statistics().median, 200);
}

TEST(Graphs, NodesCountAndTheWholeOnlyWithoutThem) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (const int64_t launch : {50, 51}) {
      const int64_t at = (launch - 50) * 1000;
      trace.addApiCall(rank.process, rank.thread, at, 20, "cudaGraphLaunch", launch);
      trace.addKernel(rank.work(at + 100, 10, launch, 2), "first");
      trace.addKernel(rank.work(at + 120, 30, launch, 2), "second");
    }
    trace.addApiCall(rank.process, rank.thread, 2000, 20, "cudaGraphLaunch", 52);
    trace.addKernel(rank.work(2100, 70, 52, 6), "graph");
    trace.addKernel(rank.work(100, 60, 50, 6), "graph");  // beside its nodes
    trace.addKernel(rank.work(3000, 5), "plain");
    trace.execute("UPDATE kernel SET graph_id = 9 WHERE flags & 2");
    trace.execute("UPDATE kernel SET graph_node_id = duration_ns WHERE flags = 2");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  auto graphs = valueOf(totalGraphs(trace, {}));
  ASSERT_EQ(graphs.size(), 1u);
  EXPECT_EQ(graphs[0].graph, 9);
  EXPECT_EQ(graphs[0].launchCount, 3);
  EXPECT_EQ(graphs[0].wholeCount, 1);
  EXPECT_EQ(graphs[0].kernelCount, 4);
  EXPECT_EQ(graphs[0].nodeCount, 2);
  EXPECT_EQ(graphs[0].total, Duration(2 * 40 + 70));
  EXPECT_EQ(graphs[0].spans.statistics().total, 2 * 50 + 70);
  EXPECT_EQ(graphs[0].api.statistics().total, 60);
}

TEST(Counters, FirstAndLastAreByTime) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const std::string head = "INSERT INTO counter_sample VALUES(" + std::to_string(rank.process) + ",";
    const std::string name = std::to_string(trace.text("loss"));
    trace.execute(head + "200," + name + ",2.0)");
    trace.execute(head + "100," + name + ",5.0)");
    trace.execute(head + "300," + name + ",3.0)");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto counters = valueOf(totalCounters(trace, {}));
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].count, 3);
  EXPECT_DOUBLE_EQ(counters[0].first, 5);
  EXPECT_DOUBLE_EQ(counters[0].last, 3);
  EXPECT_DOUBLE_EQ(counters[0].min, 2);
  EXPECT_EQ(counters[0].maxTime, TimePoint(100));
}

// What CUPTI's profiler read for each kernel is in the ranges that it made.
TEST(Counters, OfCuptisProfilerAreByKernelToo) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const std::string domain = std::to_string(trace.text("cuda_profiler_range")),
                      name = std::to_string(trace.text("fadd.sum"));
    for (const auto& [id, kernel, value] : {std::tuple{1, "gemm", 40}, {2, "gemm", 60}, {3, "relu", 7}}) {
      trace.execute(
          "INSERT INTO range(id, process_id, thread_id, start_ns, duration_ns, kind, depth, domain_id, name_id)"
          " VALUES(" +
          std::to_string(id) + "," + std::to_string(rank.process) + "," + std::to_string(rank.thread) + "," +
          std::to_string(10 * id) + ",10,'start_end',0," + domain + "," + std::to_string(trace.text(kernel)) + ")");
      trace.execute("INSERT INTO range_payload VALUES(" + std::to_string(id) + "," + name + "," +
                    std::to_string(value) + ")");
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto all = valueOf(totalCounters(trace, {}));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count, 3);
  EXPECT_DOUBLE_EQ(all[0].sum, 107);
  EXPECT_EQ(all[0].range, std::nullopt);
  const auto byKernel = valueOf(totalCounters(trace, {}, CounterGrouping::Range));
  ASSERT_EQ(byKernel.size(), 2u);
  EXPECT_EQ(trace.text(*byKernel[0].range), "gemm");
  EXPECT_DOUBLE_EQ(byKernel[0].sum, 100);
  EXPECT_EQ(trace.text(*byKernel[1].range), "relu");
}

}  // namespace
}  // namespace plumb::test
