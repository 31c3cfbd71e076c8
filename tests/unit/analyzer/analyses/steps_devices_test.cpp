// SPDX-License-Identifier: Apache-2.0
// Steps of a process with several devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/idle.h"
#include "analyzer/analyses/roofline_step.h"
#include "analyzer/analyses/steps.h"
#include "analyzer/analyses/stream_activity.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

constexpr int64_t kApart = 1000;

// A process whose second device computes while the first one does, and longer.
struct TwoDevices {
  explicit TwoDevices(TraceBuilder& trace)
      : builder(trace),
        first(trace),
        second(trace.addDevice(first.process, {.ordinal = 1})),
        stream(trace.addStream(first.process, second, 7)) {}
  [[nodiscard]] TraceBuilder::Work work(int64_t startNs, int64_t durationNs, int64_t correlation = 0) const {
    return {first.process, second, stream, startNs, durationNs, correlation};
  }
  int64_t launch(int64_t startNs) const {
    const int64_t correlation = builder.newCorrelation();
    builder.addApiCall(first.process, first.thread, startNs, 2, "cudaLaunchKernel", correlation);
    return correlation;
  }
  // k0 and a copy on the first one, k1 on the second.
  void addStep(int64_t begin, int64_t k1) const {
    builder.addRange(first.process, first.thread, begin, 950, "step");
    builder.addKernel(first.work(begin + 100, 200, launch(begin + 10)), "k0");
    builder.addKernel(work(begin + 150, k1, launch(begin + 30)), "k1");
    builder.addCopy(first.work(begin + 500, 50, launch(begin + 60)), 10);
  }

  TraceBuilder& builder;
  OneRank first;
  int64_t second, stream;
};

class StepsOfTwoDevices : public testing::Test {
 protected:
  Trace run(int64_t k1, int64_t steps = 4) {
    {
      TraceBuilder trace(m_file.path());
      const TwoDevices devices(trace);
      for (int64_t i = 0; i < steps; ++i) devices.addStep(i * kApart, k1);
    }
    return valueOf(Trace::open(m_file.path()));
  }

  const TraceFile m_file;
};

// The rows of a query, as text with a space between the cells.
std::vector<std::string> rowsOf(Trace& trace, const std::string& sql) {
  valueOf(registerSqlSurface(trace, valueOf(findReports({}))));
  std::vector<std::string> rows;
  auto row = valueOf(trace.query(sql));
  while (row.next()) {
    std::string& cells = rows.emplace_back();
    for (int i = 0; i < row.columnCount(); ++i) {
      cells += (i ? " " : "") + (row.isNull(i) ? std::string("-") : std::string(row.text(i)));
    }
  }
  return rows;
}

TEST_F(StepsOfTwoDevices, AreOverBoth) {
  Trace trace = run(300);
  const RankSteps rank = valueOf(findSteps(trace)).at(0);
  EXPECT_EQ(rank.devices.size(), 2u);
  const Step& step = rank.steps.at(1);
  ASSERT_TRUE(step.gpu);
  EXPECT_EQ(step.gpu->window, intervalOf(1100, 450));
  EXPECT_EQ(step.gpu->busy, Duration(400));
  EXPECT_EQ(step.gpu->compute, Duration(350));
  EXPECT_EQ(step.gpu->exposedMemory, Duration(50));
  EXPECT_EQ(step.gpu->idle, Duration(50));
  EXPECT_EQ(step.gpuEventCount, 3);
  EXPECT_EQ(step.gpuEventsWithin, 3);
  EXPECT_EQ(rank.statistics->median, Duration(450));
}

TEST_F(StepsOfTwoDevices, LastAsLongAsTheSlowerOneThoughItHasFewerEvents) {
  Trace trace = run(700);
  const RankSteps rank = valueOf(findSteps(trace)).at(0);
  EXPECT_EQ(rank.statistics->median, Duration(750));
  EXPECT_EQ(rank.steps.at(1).gpu->idle, Duration(0));
}

TEST_F(StepsOfTwoDevices, HaveAPartForEach) {
  Trace trace = run(300);
  const RankSteps rank = valueOf(findSteps(trace)).at(0);
  for (const Step& step : rank.steps) {
    ASSERT_EQ(step.parts.size(), 2u);
    for (const Breakdown& part : step.parts) EXPECT_EQ(part.window, step.gpu->window);
    EXPECT_EQ(step.parts[0].busy, Duration(250));
    EXPECT_EQ(step.parts[0].idle, Duration(200));
    EXPECT_EQ(step.parts[1].busy, Duration(300));
    EXPECT_EQ(step.parts[1].idle, Duration(150));
  }
}

// What --step shows of a device is what it did in the step, in all reports of the GPU's time.
TEST_F(StepsOfTwoDevices, AreTheSameWhenAFilterNamesOne) {
  Trace trace = run(300);
  const RankSteps rank = valueOf(findSteps(trace)).at(0);
  for (const Step& step : rank.steps) {
    Filter filter;
    filter.step = step.number;
    const auto devices = valueOf(breakDown(trace, filter));
    const auto idle = valueOf(findIdle(trace, filter));
    std::vector<Duration> spans;
    for (const StreamActivity& activity : valueOf(measureStreams(trace, filter))) {
      if (!activity.stream) spans.push_back(activity.span);
    }
    ASSERT_EQ(devices.size(), step.parts.size());
    ASSERT_EQ(idle.size(), step.parts.size());
    for (size_t i = 0; i < devices.size(); ++i) {
      EXPECT_EQ(devices[i].device, rank.devices[i]);
      EXPECT_EQ(devices[i].whole.span, step.parts[i].span);
      EXPECT_EQ(devices[i].whole.idle, step.parts[i].idle);
      EXPECT_EQ(idle[i].total, step.parts[i].idle);
      EXPECT_EQ(spans.at(i), step.parts[i].span);
    }
  }
}

TEST_F(StepsOfTwoDevices, AreOneRowInTheReportOfStepsAndOnePerDeviceInTheBreakdown) {
  Trace trace = run(300, 2);
  EXPECT_THAT(rowsOf(trace,
                     "SELECT step, span_ns, busy_ns, compute_ns, idle_ns, coverage_pct FROM report_steps"
                     " WHERE statistic = 'step'"),
              testing::ElementsAre("0 450 400 350 50 100.0", "1 450 400 350 50 100.0"));
  EXPECT_THAT(rowsOf(trace, "SELECT step, device, gpu_events FROM analysis_steps"),
              testing::ElementsAre("0 - 3", "1 - 3"));
  const std::string byStep = "(NULL, NULL, NULL, NULL, NULL, 'step')";
  EXPECT_THAT(rowsOf(trace,
                     "SELECT device, step, span_ns, busy_ns, compute_ns, exposed_memory_ns, idle_ns"
                     " FROM report_breakdown" +
                         byStep),
              testing::ElementsAre("0 0 450 250 200 50 200", "1 0 450 300 300 0 150", "0 1 450 250 200 50 200",
                                   "1 1 450 300 300 0 150"));
  EXPECT_THAT(rowsOf(trace, "SELECT device, step, compute_ns FROM report_overlap" + byStep),
              testing::ElementsAre("0 0 200", "1 0 300", "0 1 200", "1 1 300"));
}

// A pipeline: each device has its own part of the layers, and the one with the most kernels tells the repetitions.
TEST(PeriodStepsOfTwoDevices, OwnTheWorkOfBoth) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const TwoDevices devices(trace);
    for (int64_t step = 0; step < 6; ++step) {
      for (int64_t k = 0; k < 8; ++k) {
        trace.addKernel(devices.first.work(step * kApart + k * 50, 40), "kernel" + std::to_string(k));
      }
      trace.addKernel(devices.work(step * kApart + 390, 500), "behind");
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const RankSteps rank = valueOf(findSteps(trace)).at(0);
  EXPECT_EQ(rank.source, StepSource::Period);
  ASSERT_EQ(rank.steps.size(), 6u);
  for (const Step& step : rank.steps) {
    EXPECT_EQ(step.gpu->span, Duration(890)) << step.number;
    EXPECT_EQ(step.gpuEventCount, 9);
    EXPECT_EQ(step.parts.at(1).busy, Duration(500));
  }
  Filter last;
  last.step = 5;
  EXPECT_EQ(valueOf(breakDown(trace, last)).at(0).whole.span, Duration(890));
}

// The work of a step is done at the earliest when the device with the most of it is.
TEST(RooflineStepOfTwoDevices, IsBoundByTheOneThatNeedsTheLongest) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const TwoDevices devices(trace);
    for (const int64_t ordinal : {0, 1}) {
      trace.addRoof(devices.first.process, ordinal, "bf16", 1e12);
      trace.addRoof(devices.first.process, ordinal, "memory", 1e11);
    }
    trace.addRange(devices.first.process, devices.first.thread, 0, 9'000'000, "step");
    const auto multiply = [&](const TraceBuilder::Work& work, int64_t externalId, int64_t m) {
      trace.addLibraryCall({.process = devices.first.process,
                            .thread = devices.first.thread,
                            .startNs = 5 + externalId,
                            .m = m,
                            .n = 1000,
                            .k = 1000,
                            .externalId = externalId,
                            .bytes = 6e6});
      trace.addKernel(work, "gemm");
      trace.addLink(devices.first.process, externalId, work.correlation);
    };
    multiply(devices.first.work(100, 4'000'000, devices.launch(10)), 1, 1000);
    multiply(devices.work(100, 4'000'000, devices.launch(20)), 2, 500);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const StepRoofline step = valueOf(stepRooflines(trace)).at(0);
  EXPECT_DOUBLE_EQ(step.flops, 3e9);
  EXPECT_DOUBLE_EQ(*step.computeSeconds, 2e-3);
  EXPECT_DOUBLE_EQ(*step.memorySeconds, 6e-5);
  EXPECT_DOUBLE_EQ(*step.boundShare, 0.5);
}

}  // namespace
}  // namespace plumb::test
