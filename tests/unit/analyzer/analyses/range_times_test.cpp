// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/range_times.h"

#include <gtest/gtest.h>

#include "analyzer/analyses/windows.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

// A kernel that a call at callStart (5 ns long) on the thread launched.
void launch(TraceBuilder& trace, const OneRank& rank, int64_t thread, int64_t callStart, int64_t start,
            int64_t duration) {
  const int64_t correlation = trace.newCorrelation();
  trace.addApiCall(rank.process, thread, callStart, 5, "cudaLaunchKernel", correlation);
  trace.addKernel(rank.work(start, duration, correlation), "kernel");
}

const RangeTotals* find(const std::vector<RangeTotals>& all, std::string_view name) {
  for (const RangeTotals& totals : all) {
    if (totals.name == name) return &totals;
  }
  return nullptr;
}

// step 0-100 with forward 10-40 and, after a while, backward 50-90 whose work another thread launches.
void makeSteps(const std::string& path) {
  TraceBuilder trace(path);
  const OneRank rank(trace);
  const int64_t other = trace.addThread(rank.process);
  for (const int64_t at : {0, 1000}) {
    const int64_t step = trace.addRange(rank.process, rank.thread, at, 100, "step", 0);
    trace.addRange(rank.process, rank.thread, at + 10, 30, "forward", 1, step);
    trace.addRange(rank.process, rank.thread, at + 50, 40, "backward", 1, step);
    launch(trace, rank, rank.thread, at + 12, at + 100, 50);  // forward: 100-150, 170-200
    launch(trace, rank, rank.thread, at + 20, at + 170, 30);
    launch(trace, rank, rank.thread, at + 45, at + 210, 5);  // step only: 210-215
    launch(trace, rank, other, at + 60, at + 300, 40);       // backward, on another thread: 300-340
  }
  trace.addRange(rank.process, rank.thread, 2000, std::nullopt, "unfinished");
}

TEST(Ranges, ByNameTheGpuSideIsWhatTheyLaunchedOnTheirThread) {
  const TraceFile file;
  makeSteps(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  auto totals = valueOf(totalRanges(trace, {}, RangeGrouping::Name));
  const RangeTotals* step = find(totals, "step");
  ASSERT_NE(step, nullptr);
  Sample host = step->host, gpu = step->gpuSpan;
  EXPECT_EQ(host.statistics().total, 200);
  EXPECT_EQ(step->self, Duration(60));
  EXPECT_EQ(step->gpuEventCount, 6);
  EXPECT_EQ(gpu.statistics().total, 2 * 115);
  EXPECT_EQ(step->gpuBusy, Duration(2 * 85));
  EXPECT_EQ(find(totals, "backward")->gpuEventCount, 0);
  EXPECT_EQ(find(totals, "backward")->gpuSpan.count(), 0u);
  EXPECT_EQ(find(totals, "unfinished")->openCount, 1);
  EXPECT_EQ(find(totals, "unfinished")->host.count(), 0u);
}

TEST(Ranges, OverAllThreadsTheBackwardPassHasItsWork) {
  const TraceFile file;
  makeSteps(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  auto totals = valueOf(totalRanges(trace, {}, RangeGrouping::AllThreads));
  EXPECT_EQ(find(totals, "backward")->gpuBusy, Duration(2 * 40));
  EXPECT_EQ(find(totals, "step")->gpuBusy, Duration(2 * 125));
  EXPECT_EQ(find(totals, "step")->self, Duration(60));
}

// As makeSteps, and the other thread is one of autograd's; it has a range of its own.
TEST(Ranges, TheBackwardPassHasWhatAutogradsThreadsLaunchedForIt) {
  for (const bool isNamed : {true, false}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      const int64_t other = trace.addThread(rank.process), loader = trace.addThread(rank.process);
      if (isNamed) {
        trace.execute("UPDATE thread SET name_id = " + std::to_string(trace.text("thread 7 (pt_autograd_0)")) +
                      " WHERE id = " + std::to_string(other));
      } else {
        trace.addRange(rank.process, other, 55, 10, "autograd::engine::evaluate_function: MmBackward0");
        trace.addRange(rank.process, other, 66, 9, "AddmmBackward0, op_id = 3");
      }
      trace.addRange(rank.process, other, 56, 8, "hook", isNamed ? 0 : 1);
      trace.addRange(rank.process, loader, 0, 100, "prefetch");
      const int64_t step = trace.addRange(rank.process, rank.thread, 0, 100, "step", 0);
      trace.addRange(rank.process, rank.thread, 50, 40, "backward", 1, step);
      launch(trace, rank, rank.thread, 12, 100, 50);
      launch(trace, rank, rank.thread, 18, 150, 10);
      launch(trace, rank, rank.thread, 52, 170, 20);
      launch(trace, rank, other, 57, 300, 40);
      launch(trace, rank, loader, 60, 400, 1);
    }
    Trace trace = valueOf(Trace::open(file.path()));
    const auto gpuBusy = [&](RangeGrouping grouping, std::string_view name) {
      const auto totals = valueOf(totalRanges(trace, {}, grouping));
      const RangeTotals* found = find(totals, name);
      return found ? found->gpuBusy.ns() : -1;
    };
    EXPECT_EQ(gpuBusy(RangeGrouping::Name, "backward"), 60);
    EXPECT_EQ(gpuBusy(RangeGrouping::Name, "step"), 120);
    EXPECT_EQ(gpuBusy(RangeGrouping::Path, "step > backward"), 60);
    EXPECT_EQ(gpuBusy(RangeGrouping::Name, "hook"), 40);
    EXPECT_EQ(gpuBusy(RangeGrouping::Name, "prefetch"), 1) << "another thread's work is not its";
    EXPECT_EQ(gpuBusy(RangeGrouping::OwnThread, "backward"), 20);
    EXPECT_EQ(gpuBusy(RangeGrouping::OwnThread, "step"), 80);
    EXPECT_EQ(gpuBusy(RangeGrouping::AllThreads, "backward"), 61);
  }
}

TEST(Ranges, PathsAreATree) {
  const TraceFile file;
  makeSteps(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  std::vector<std::string> names;
  for (const RangeTotals& totals : valueOf(totalRanges(trace, {}, RangeGrouping::Path))) {
    names.push_back(totals.name);
    EXPECT_EQ(*totals.depth, totals.name.find('>') == std::string::npos ? 0 : 1);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"step", "step > forward", "step > backward", "unfinished"}));
}

TEST(Ranges, InstancesAreThereOneByOne) {
  const TraceFile file;
  makeSteps(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  auto totals = valueOf(totalRanges(trace, {}, RangeGrouping::Instance));
  ASSERT_EQ(totals.size(), 7u);
  EXPECT_EQ(totals[3].name, "step");
  EXPECT_EQ(*totals[3].start, TimePoint(1000));
  EXPECT_EQ(*totals[3].gpuStart, TimePoint(1100));
}

TEST(Ranges, AFilterKeepsThoseThatBeginInIt) {
  const TraceFile file;
  makeSteps(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  Filter filter;
  filter.step = 1;
  auto totals = valueOf(totalRanges(trace, filter, RangeGrouping::Instance));
  ASSERT_EQ(totals.size(), 3u);
  EXPECT_EQ(*totals[0].start, TimePoint(1000));
}

TEST(Ranges, StartEndRangesMayOverlap) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRange(rank.process, rank.thread, 0, 50, "a");
    trace.addRange(rank.process, rank.thread, 30, 50, "b");
    trace.execute("UPDATE range SET kind = 'start_end'");
    launch(trace, rank, rank.thread, 10, 100, 10);
    launch(trace, rank, rank.thread, 35, 200, 10);
    launch(trace, rank, rank.thread, 60, 300, 10);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  auto totals = valueOf(totalRanges(trace, {}, RangeGrouping::Name));
  EXPECT_EQ(find(totals, "a")->gpuEventCount, 2);
  EXPECT_EQ(find(totals, "b")->gpuEventCount, 2);
  EXPECT_EQ(find(totals, "b")->gpuBusy, Duration(20));
}

TEST(Ranges, OfEmitNvtxAreOneByNameAndPathWhateverTheirNumbers) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t step = trace.addRange(rank.process, rank.thread, 0, 100, "step", 0);
    trace.addRange(rank.process, rank.thread, 10, 5, "aten::add, seq = 12, op_id = 3, sizes = [[4], [4]]", 1, step);
    trace.addRange(rank.process, rank.thread, 20, 5, "aten::add, op_id = 4, sizes = [[8], [8]]", 1, step);
    trace.addRange(rank.process, rank.thread, 30, 5, "aten::add", 1, step);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  for (const auto& [grouping, name] : {std::pair(RangeGrouping::Name, "aten::add"),
                                       {RangeGrouping::AllThreads, "aten::add"},
                                       {RangeGrouping::Path, "step > aten::add"}}) {
    const auto totals = valueOf(totalRanges(trace, {}, grouping));
    EXPECT_EQ(totals.size(), 2u);
    const RangeTotals* add = find(totals, name);
    ASSERT_NE(add, nullptr) << name;
    EXPECT_EQ(add->host.count(), 3u);
  }
  EXPECT_EQ(valueOf(totalRanges(trace, {}, RangeGrouping::Instance)).size(), 4u);
}

TEST(Windows, ARangeGoesByTheNameThatTheReportGivesItOrByItsOwn) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (const auto& [start, name] : {std::pair(10, "aten::to, op_id = 990347"),
                                      {20, "aten::to, seq = 7, op_id = 4, sizes = [[8]]"},
                                      {30, "aten::to"},
                                      {40, "aten::to, and something else"},
                                      {50, "aten::topk, op_id = 5"}}) {
      trace.addRange(rank.process, rank.thread, start, 5, name);
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto startsOf = [&](const std::string& range) {
    std::vector<int64_t> starts;
    const auto windows = valueOf(findWindows(trace, {.range = range}));
    for (const Interval& time : windows.at(0).host.parts()) starts.push_back(time.start.ns());
    return starts;
  };
  EXPECT_EQ(startsOf("aten::to"), (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(startsOf("aten::to, op_id = 990347"), (std::vector<int64_t>{10}));
  EXPECT_EQ(startsOf("aten::topk"), (std::vector<int64_t>{50}));
  EXPECT_FALSE(checkFilter(trace, {.range = "aten"}).ok());
}

TEST(Windows, OfARangeHoldWhatWasLaunchedInAnyOfManyNestedOnes) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (int64_t i = 0; i < 20; ++i) trace.addRange(rank.process, rank.thread, i, 1000 - 2 * i, "recursive", i);
    launch(trace, rank, rank.thread, 990, 2000, 10);  // in the outermost few
    launch(trace, rank, rank.thread, 500, 1500, 10);  // in all
    launch(trace, rank, rank.thread, 1001, 3000, 10);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  Filter filter;
  filter.range = "recursive";
  const auto windows = valueOf(findWindows(trace, filter));
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].gpu.hull(), intervalOf(1500, 510));
  EXPECT_EQ(windows[0].host.length(), Duration(1000));
}

// Few launches are looked up by the indexes, in place of reading all: both must find the same.
TEST(Windows, OfAStepAreTheSameWithAndWithoutIndexes) {
  std::vector<std::vector<Interval>> found[2];  // by hasIndexes
  for (const bool hasIndexes : {false, true}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      const int64_t other = trace.addThread(rank.process);
      for (int64_t step = 0; step < 40; ++step) {
        const int64_t at = step * 1000;
        trace.addRange(rank.process, rank.thread, at, 500, "step", 0);
        for (int64_t i = 0; i < 10; ++i)
          launch(trace, rank, i % 3 ? rank.thread : other, at + 60 * i, at + 300 + 70 * i, 5);
        // Work whose call is nested in one that began before the step.
        const int64_t nested = trace.newCorrelation();
        trace.addApiCall(rank.process, other, at - 5, 20, "cudaLaunchKernel", nested);
        trace.addApiCall(rank.process, other, at + 3, 5, "cuLaunchKernel", nested);
        trace.addKernel(rank.work(at + 2000, 50, nested), "late");
      }
      trace.finish(hasIndexes);  // the file of a recorder that was killed has none
    }
    Trace trace = valueOf(Trace::open(file.path()));
    for (const int64_t step : {0, 3, 39}) {
      Filter filter;
      filter.step = step;
      found[hasIndexes].push_back(valueOf(findWindows(trace, filter)).at(0).gpu.parts());
    }
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[1][1], (std::vector<Interval>{intervalOf(3300, 70 * 8 + 5)}));
}

}  // namespace
}  // namespace plumb::test
