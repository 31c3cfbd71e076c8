// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/trace_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

const HealthFinding* find(const std::vector<HealthFinding>& findings, std::string_view check) {
  for (const HealthFinding& finding : findings) {
    if (finding.check == check) return &finding;
  }
  return nullptr;
}

TEST(Health, SaysWhichClocksCannotBeCompared) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (const int64_t rank : {0, 1}) {
      trace.addProcess({.rank = rank, .worldSize = 2, .host = rank == 0 ? "a" : "b"});
    }
    trace.execute("UPDATE process SET start_ns = 5000000 WHERE rank = 1");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto findings = valueOf(checkHealth(trace, {}));
  const HealthFinding* clocks = find(findings, "clocks");
  ASSERT_TRUE(clocks);
  EXPECT_EQ(clocks->severity, Severity::Warning);
  EXPECT_THAT(clocks->message, testing::HasSubstr("b (rank 1) is from that of a (rank 0) cannot be said"));
  const HealthFinding* begins = find(findings, "recordings_begin");
  ASSERT_TRUE(begins);
  EXPECT_EQ(begins->value, 5'000'000);
}

TEST(Health, OfOneHostSaysNothingOfClocks) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (const int64_t rank : {0, 1}) trace.addRank(rank, 2);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_EQ(find(valueOf(checkHealth(trace, {})), "clocks"), nullptr);
}

TEST(Health, OfMissingRanksTheNumberIsOfRanks) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addDiagnostic(std::nullopt, "warning", "import", "rank_missing", 126, "2 of the run's 128 ranks are here.");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto findings = valueOf(checkHealth(trace, {}));
  EXPECT_EQ(find(findings, "diagnostic")->value, 126);
  EXPECT_EQ(find(findings, "diagnostic")->unit, "ranks");
}

TEST(Health, OfABadRecordingComesWorstFirst) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace, 1, 4);
    trace.addDiagnostic(rank.process, "error", "cupti", "ring_full", 12, "12 events were lost.");
    trace.addPlugin(rank.process, "nccl", "off");
    trace.addPlugin(rank.process, "nvtx", "on");
    trace.addApiCall(rank.process, rank.thread, 0, 5, "cudaLaunchKernel", 1);
    trace.addApiCall(rank.process, rank.thread, 10, 5, "cudaLaunchKernel", 2);
    trace.addKernel(rank.work(20, 5, 1), "a");
    trace.addKernel(rank.work(30, 5, 9), "launch is lost");
    trace.addKernel(rank.work(0, 0, 3, 1), "untimed");
    trace.finish(false);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto findings = valueOf(checkHealth(trace, {}));
  EXPECT_EQ(findings.front().severity, Severity::Error);
  EXPECT_EQ(find(findings, "file_complete")->severity, Severity::Error);
  EXPECT_EQ(find(findings, "diagnostic")->subject, "cupti/ring_full");
  EXPECT_EQ(find(findings, "plugin_off")->subject, "nccl");
  EXPECT_EQ(find(findings, "missing_ranks")->value, 3.0);
  EXPECT_THAT(find(findings, "missing_ranks")->message, testing::HasSubstr("0, 2, 3"));
  EXPECT_EQ(find(findings, "launched_work")->value, 50.0);
  EXPECT_EQ(find(findings, "launches_with_work")->value, 50.0);
  EXPECT_EQ(find(findings, "untimed_events")->value, 1.0);
}

TEST(Health, WorkThatBeginsBeforeItsLaunchTellsOfClocksThatDiffer) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (const auto& [launch, work] : {std::pair(100, 98), {200, 170}, {300, 310}}) {
      const int64_t correlation = trace.newCorrelation();
      trace.addApiCall(rank.process, rank.thread, launch, 5, "cudaLaunchKernel", correlation);
      trace.addKernel(rank.work(work, 5, correlation), "a");
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto findings = valueOf(checkHealth(trace, {}));
  const HealthFinding* early = find(findings, "work_before_launch");
  ASSERT_TRUE(early);
  EXPECT_EQ(early->severity, Severity::Warning);
  EXPECT_EQ(early->value, 2.0);
  EXPECT_THAT(early->message,
              testing::HasSubstr("2 of 3 GPU events begin before the call that launched them, by up to 30 ns"));
}

TEST(Health, WithoutRanksItCannotSayWhetherOneIsMissing) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    trace.addProcess({});
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_EQ(find(valueOf(checkHealth(trace, {})), "missing_ranks")->severity, Severity::CannotSay);
}

TEST(Health, CoverageOfEachStep) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (const int64_t at : {0, 1000}) {
      trace.addRange(rank.process, rank.thread, at, 100, "step");
      const int64_t correlation = trace.newCorrelation();
      trace.addApiCall(rank.process, rank.thread, at + 5, 5, "cudaLaunchKernel", correlation);
      trace.addKernel(rank.work(at + 20, 200, correlation), "a");
      trace.addKernel(rank.work(at + 50, 5), "no launch");
      trace.addApiCall(rank.process, rank.thread, at + 15, 5, "cudaLaunchKernel", trace.newCorrelation());
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto steps = valueOf(measureCoverage(trace, {}));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].gpuEventCount, 2);
  EXPECT_EQ(steps[1].withoutLaunchCount, 1);
  EXPECT_EQ(steps[1].launchCount, 2);
  EXPECT_EQ(steps[1].withoutWorkCount, 1);
}

}  // namespace
}  // namespace plumb::test
