// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/kernel_period.h"

#include <gtest/gtest.h>

#include <random>

#include "analyzer/analyses/steps.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

std::optional<Period> periodOf(const std::vector<uint64_t>& names) {
  return findPeriod(names, std::vector<int64_t>(names.size(), 0));
}

TEST(KernelPeriod, LayersInsideOfAStepAreNotSteps) {
  std::vector<uint64_t> names;
  for (int step = 0; step < 5; ++step) {
    names.insert(names.end(), {100, 101});
    for (int layer = 0; layer < 12; ++layer) names.insert(names.end(), {1, 2, 3, 4});
    names.insert(names.end(), {102, 103, 104});
  }
  const auto period = periodOf(names);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->length, 53u);
  EXPECT_EQ(period->starts.size(), 5u);
  EXPECT_EQ(period->starts.front(), 0u);
  EXPECT_DOUBLE_EQ(period->match, 1);
}

TEST(KernelPeriod, BeginsBehindTheLongestPause) {
  std::vector<uint64_t> names;
  std::vector<int64_t> gaps;
  for (int i = 0; i < 80; ++i) {
    names.push_back(static_cast<uint64_t>(i % 10));
    gaps.push_back(i % 10 == 3 ? 1000 : i % 10 == 7 ? 500 : 1);
  }
  const auto period = findPeriod(names, gaps);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->length, 10u);
  EXPECT_EQ(period->starts.front(), 3u);
  EXPECT_EQ(period->starts.size(), 7u);  // the last one is cut short
}

TEST(KernelPeriod, SetupAndSomethingRareDoNotHideIt) {
  std::mt19937 random(3);
  std::vector<uint64_t> names;
  for (int i = 0; i < 40; ++i) names.push_back(1000 + random() % 50);
  for (int step = 0; step < 20; ++step) {
    for (uint64_t k = 0; k < 30; ++k) names.push_back(k);
    if (step % 10 == 9) names.insert(names.end(), {500, 501});  // logging
  }
  const auto period = periodOf(names);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->length, 30u);
  EXPECT_EQ(period->starts.size(), 20u);
}

TEST(KernelPeriod, NoiseHasNone) {
  std::mt19937 random(5);
  std::vector<uint64_t> names;
  for (int i = 0; i < 2000; ++i) names.push_back(random() % 40);
  EXPECT_FALSE(periodOf(names));
  EXPECT_FALSE(periodOf({}));
  EXPECT_FALSE(periodOf({1, 2, 1, 2}));
}

TEST(PeriodSteps, StandInWhereNobodyDeclaredSteps) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (int64_t step = 0; step < 6; ++step) {
      for (int64_t k = 0; k < 8; ++k) {
        trace.addKernel(rank.work(step * 1000 + k * 100, 50), "kernel" + std::to_string(k));
      }
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto ranks = valueOf(findSteps(trace));
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].source, StepSource::Period);
  ASSERT_EQ(ranks[0].steps.size(), 6u);
  EXPECT_EQ(ranks[0].steps[2].gpu->window, intervalOf(2000, 750));
  EXPECT_EQ(ranks[0].statistics->median, Duration(750));
  Filter second;
  second.step = 1;
  EXPECT_EQ(valueOf(breakDown(trace, second)).at(0).whole.span, Duration(750));
  second.step = 17;
  EXPECT_NE(errorOf(breakDown(trace, second)), "");
}

// A decoder's layers: `launches` graphs of 12 layers each.
std::vector<RankSteps> stepsOfGraphs(int64_t launches) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (int64_t launch = 0; launch < launches; ++launch) {
      const int64_t correlation = trace.newCorrelation(), begin = launch * 20'000;
      trace.addApiCall(rank.process, rank.thread, begin, 10, "cudaGraphLaunch", correlation);
      for (int64_t k = 0; k < 6; ++k) {
        trace.addKernel(rank.work(begin + 20 + k * 100, 50, correlation), "embedding" + std::to_string(k));
      }
      for (int64_t k = 0; k < 12 * 8; ++k) {
        trace.addKernel(rank.work(begin + 1000 + k * 100, 50, correlation), "layer" + std::to_string(k % 8));
      }
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  return valueOf(findSteps(trace));
}

TEST(PeriodSteps, RepetitionsInsideOneGraphLaunchAreNotSteps) {
  EXPECT_TRUE(stepsOfGraphs(1).empty());
  const auto ranks = stepsOfGraphs(8);  // a step for each launch
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].steps.size(), 8u);
}

}  // namespace
}  // namespace plumb::test
