// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/steps.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

std::vector<Duration> times(std::initializer_list<int64_t> values) {
  std::vector<Duration> result;
  for (const int64_t value : values) result.emplace_back(value);
  return result;
}

TEST(Percentile, InterpolatesBetweenNeighbours) {
  EXPECT_EQ(percentile(times({10}), 0.9), Duration(10));
  EXPECT_EQ(percentile(times({30, 10, 20}), 0.5), Duration(20));
  EXPECT_EQ(percentile(times({0, 100}), 0.1), Duration(10));
}

TEST(Warmup, LeadingStepsThatDiffer) {
  EXPECT_EQ(countWarmup(times({300, 100, 101, 99, 100})), 1u);
  EXPECT_EQ(countWarmup(times({300, 200, 100, 101, 99, 100})), 2u);
  EXPECT_EQ(countWarmup(times({100, 101, 99, 100})), 0u);
  EXPECT_EQ(countWarmup(times({105, 100, 101, 99, 100})), 0u);       // within 10 %
  EXPECT_EQ(countWarmup(times({100, 620, 100, 101, 99, 100})), 2u);  // a slow second step after a normal one
  EXPECT_EQ(countWarmup(times({100, 140, 100, 101, 99, 100})), 0u);  // not slow enough for that
  EXPECT_EQ(countWarmup(times({100, 40, 100, 101, 99, 100})), 0u);   // a fast one is none
  EXPECT_EQ(countWarmup(times({100, 101, 99, 100, 101, 99, 620, 100, 101, 99, 100, 101, 99, 100})), 0u);  // not early
  EXPECT_EQ(countWarmup(times({100, 620, 100})), 0u);               // more than half of the steps
  EXPECT_EQ(countWarmup(times({130, 80, 100, 120, 90, 110})), 0u);  // as uneven as the rest
  EXPECT_EQ(countWarmup(times({300, 100})), 0u);                    // too few to tell
  EXPECT_EQ(countWarmup({}), 0u);
}

// A step whose work is launched in it and runs later.
void addStep(TraceBuilder& trace, const OneRank& rank, int64_t hostStart, int64_t hostLength, int64_t gpuStart,
             int64_t gpuLength) {
  trace.addRange(rank.process, rank.thread, hostStart, hostLength, "step");
  const int64_t correlation = trace.newCorrelation();
  trace.addApiCall(rank.process, rank.thread, hostStart + 1, 2, "cudaLaunchKernel", correlation);
  trace.addKernel(rank.work(gpuStart, gpuLength, correlation), "gemm");
}

TEST(Steps, TheGpuSpanFollowsTheLaunches) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    addStep(trace, rank, 0, 100, 50, 400);  // runs on while the host is in the next step
    addStep(trace, rank, 100, 100, 450, 100);
    const int64_t correlation = trace.newCorrelation();
    trace.addApiCall(rank.process, trace.addThread(rank.process), 150, 2, "cudaMemcpyAsync",
                     correlation);  // another thread
    trace.addCopy(rank.work(600, 50, correlation), 10);
    trace.addKernel(rank.work(700, 10), "without a launch");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto ranks = valueOf(findSteps(trace));
  ASSERT_EQ(ranks.size(), 1u);
  ASSERT_EQ(ranks[0].steps.size(), 2u);
  const Step& first = ranks[0].steps[0];
  const Step& second = ranks[0].steps[1];
  ASSERT_TRUE(first.gpu && second.gpu);
  EXPECT_EQ(first.gpu->window, intervalOf(50, 400));
  EXPECT_EQ(second.gpu->window, intervalOf(450, 200));
  EXPECT_EQ(second.gpu->compute, Duration(100));
  EXPECT_EQ(second.gpu->exposedMemory, Duration(50));
  EXPECT_EQ(second.gpu->idle, Duration(50));
  EXPECT_EQ(second.gpuEventCount, 2);
  EXPECT_TRUE(ranks[0].timesAreGpuSpans);
  EXPECT_EQ(ranks[0].statistics->median, Duration(300));
}

// A device that waits between steps, for data, is in no span.
TEST(Steps, FromStartToStartCoversWhatLiesBetweenTheSpans) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (int64_t i = 0; i < 4; ++i) addStep(trace, rank, i * 1000, 1000, i * 1000 + 600, 100);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const RankSteps rank = valueOf(findSteps(trace)).at(0);
  EXPECT_EQ(rank.statistics->median, Duration(100));
  ASSERT_TRUE(rank.startToStart);
  EXPECT_EQ(rank.startToStart->count, 3) << "what follows the last one is not known";
  EXPECT_EQ(rank.startToStart->median, Duration(1000));
  EXPECT_EQ(rank.steps[0].startToStart, Duration(1000));
  EXPECT_FALSE(rank.steps[3].startToStart);
}

// A profiler that records now and then, and a program that names each iteration itself.
TEST(Steps, FromStartToStartIsToTheStepWithTheNextNumberOfTheSameKind) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    int64_t begin = 0;
    for (const char* name : {"ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#90", "ProfilerStep#91"}) {
      trace.addRange(rank.process, rank.thread, begin, 100, name);
      trace.addRange(rank.process, rank.thread, begin + 10, 50, "step");
      begin += std::string_view(name).ends_with("#2") ? 9000 : 120;
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const RankSteps rank = valueOf(findSteps(trace)).at(0);
  ASSERT_EQ(rank.steps.size(), 8u);
  EXPECT_EQ(rank.steps[0].startToStart, Duration(120));
  EXPECT_EQ(rank.steps[1].startToStart, Duration(120)) << "of the inner ones";
  EXPECT_FALSE(rank.steps[2].startToStart) << "the next one is number 3";
  EXPECT_EQ(rank.steps[4].startToStart, Duration(120));
}

TEST(Steps, WarmupIsLeftOutOfTheStatistics) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    addStep(trace, rank, 0, 1000, 10, 900);
    for (int64_t i = 1; i < 6; ++i) addStep(trace, rank, i * 1000, 1000, i * 1000 + 10, 100);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const RankSteps rank = valueOf(findSteps(trace)).at(0);
  EXPECT_EQ(rank.warmupCount, 1);
  EXPECT_TRUE(rank.steps[0].isWarmup);
  EXPECT_EQ(rank.statistics->count, 5);
  EXPECT_EQ(rank.statistics->p90, Duration(100));
}

// So that a step time means the same steps whichever rank it is of.
TEST(Steps, WarmupOfOneRankIsThatOfAll) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (const int64_t first : {900, 100}) {
      const OneRank rank(trace);
      addStep(trace, rank, 0, 1000, 10, first);
      for (int64_t i = 1; i < 6; ++i) addStep(trace, rank, i * 1000, 1000, i * 1000 + 10, 100);
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto ranks = valueOf(findSteps(trace));
  ASSERT_EQ(ranks.size(), 2u);
  for (const RankSteps& rank : ranks) {
    EXPECT_EQ(rank.warmupCount, 1);
    EXPECT_TRUE(rank.steps[0].isWarmup);
    EXPECT_EQ(rank.statistics->count, 5);
  }
}

TEST(Steps, WithoutGpuWorkTheHostRangeIsTimed) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRange(rank.process, rank.thread, 0, 100, "step 0");
    trace.addRange(rank.process, rank.thread, 100, 120, "ProfilerStep#1");
    trace.addRange(rank.process, rank.thread, 300, std::nullopt, "step");  // still open
    trace.addRange(rank.process, rank.thread, 400, 10, "stepping stone");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const RankSteps rank = valueOf(findSteps(trace)).at(0);
  EXPECT_EQ(rank.steps.size(), 2u);
  EXPECT_EQ(rank.openCount, 1);
  EXPECT_FALSE(rank.timesAreGpuSpans);
  EXPECT_FALSE(rank.steps[0].gpu);
  EXPECT_EQ(rank.statistics->median, Duration(110));
}

TEST(Steps, NoneMarkedNoneFound) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(0, 10), "a");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_TRUE(valueOf(findSteps(trace)).empty());
}

}  // namespace
}  // namespace plumb::test
