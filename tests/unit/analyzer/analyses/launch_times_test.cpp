// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/launch_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

int64_t launch(TraceBuilder& trace, const OneRank& rank, Interval call, Interval work) {
  const int64_t correlation = trace.newCorrelation();
  trace.addApiCall(rank.process, rank.thread, call.start.ns(), call.length().ns(), "cudaLaunchKernel", correlation);
  trace.addKernel(rank.work(work.start.ns(), work.length().ns(), correlation), "kernel");
  return correlation;
}

TEST(Launches, QueueTimeCountsOnlyWhenTheCallWasOver) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launch(trace, rank, intervalOf(0, 10), intervalOf(30, 100));   // queues for 20
    launch(trace, rank, intervalOf(200, 50), intervalOf(240, 5));  // starts before its call returns
    trace.addKernel(rank.work(500, 10), "without a launch");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  LaunchTimes times = valueOf(totalLaunches(trace, {}, LaunchGrouping::Kernel));
  EXPECT_EQ(times.withoutCall, 1);
  ASSERT_EQ(times.groups.size(), 1u);
  LaunchTotals& totals = times.groups[0];
  EXPECT_EQ(totals.api.statistics().total, 60);
  EXPECT_EQ(totals.queue.count(), 1u);
  EXPECT_EQ(totals.queue.statistics().total, 20);
  EXPECT_EQ(totals.delay.statistics().total, 70);
  EXPECT_EQ(totals.total.statistics().total, 130 + 45);
  EXPECT_EQ(totals.depthMax, 1);
}

TEST(Launches, AGraphIsOneLaunch) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t graph = launch(trace, rank, intervalOf(0, 10), intervalOf(100, 10));
    trace.addKernel(rank.work(50, 10, graph), "node");
    trace.addKernel(rank.work(200, 10, graph), "node");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto queues = valueOf(measureQueues(trace, {}));
  ASSERT_EQ(queues.size(), 1u);
  EXPECT_EQ(queues[0].launchCount, 1);
  EXPECT_EQ(queues[0].maxDepth, 1);
  EXPECT_EQ(queues[0].queued, Duration(50));
  EXPECT_EQ(queues[0].span, Duration(50));
}

TEST(Launches, ByThread) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launch(trace, rank, intervalOf(0, 10), intervalOf(30, 100));
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const LaunchTimes times = valueOf(totalLaunches(trace, {}, LaunchGrouping::Thread));
  ASSERT_EQ(times.groups.size(), 1u);
  EXPECT_TRUE(times.groups[0].thread.has_value());
}

TEST(Launches, AFullQueueBlocksTheCall) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (int64_t i = 0; i < 1030; ++i) {  // every ns a launch, all start late
      launch(trace, rank, {TimePoint(i), TimePoint(i == 1029 ? 5000 : i + 1)}, intervalOf(4000 + 10 * i, 5));
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const LaunchTimes times = valueOf(totalLaunches(trace, {}, LaunchGrouping::Kernel));
  ASSERT_EQ(times.groups.size(), 1u);
  EXPECT_EQ(times.groups[0].depthMax, 1030);
  EXPECT_EQ(times.groups[0].deepCount, 7);
  // Full from the 1024th launch at 1023 until the 7th kernel begins at 4060.
  EXPECT_EQ(times.groups[0].blocked, Duration(4060 - 1023));
  const auto queues = valueOf(measureQueues(trace, {}));
  EXPECT_EQ(queues.at(0).full, Duration(4060 - 1023));
}

TEST(Queue, DepthIsThatOfABruteForce) {
  std::mt19937 random(9);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  for (int round = 0; round < 20; ++round) {
    const TraceFile file;
    std::vector<Interval> waiting;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      for (int64_t i = 2 + number(30); i > 0; --i) {
        const int64_t call = number(300), start = call + number(200) - 10;
        launch(trace, rank, intervalOf(call, number(20)), intervalOf(std::max<int64_t>(start, 0), 5));
        waiting.push_back({TimePoint(call), TimePoint(std::max({start, call, int64_t{0}}))});
      }
    }
    Trace trace = valueOf(Trace::open(file.path()));
    const auto queues = valueOf(measureQueues(trace, {}));
    ASSERT_EQ(queues.size(), 1u);
    int64_t most = 0, queued = 0, area = 0, first = INT64_MAX, last = 0;
    for (const Interval& w : waiting) {
      first = std::min(first, w.start.ns());
      last = std::max(last, w.end.ns());
    }
    for (int64_t t = first; t < last; ++t) {  // nanosecond by nanosecond
      const int64_t depth = std::ranges::count_if(waiting, [t](const Interval& w) { return w.contains(TimePoint(t)); });
      most = std::max(most, depth);
      queued += depth > 0;
      area += depth;
    }
    EXPECT_EQ(queues[0].maxDepth, most);
    EXPECT_EQ(queues[0].queued, Duration(queued));
    EXPECT_EQ(queues[0].span, Duration(last - first));
    EXPECT_NEAR(queues[0].meanDepth, static_cast<double>(area) / static_cast<double>(last - first), 1e-9);
  }
}

}  // namespace
}  // namespace plumb::test
