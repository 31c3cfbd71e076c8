// SPDX-License-Identifier: Apache-2.0
// What people see of the rules' findings: the same of several ranks once, in order, named, with evidence.
#include "analyzer/advice/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/advice/rules.h"

namespace plumb::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Finding finding(const char* rule, std::optional<int64_t> rank, const char* sentence, int64_t gainNs) {
  Finding one;
  one.rule = rule;
  one.rank = rank;
  one.pid = 4000 + rank.value_or(0);
  one.finding = sentence;
  one.gain = Duration(gainNs);
  return one;
}

TEST(Findings, NumbersDoNotTellSentencesApartButQuotedNamesDo) {
  EXPECT_EQ(wordsOf("device 3 was idle for 6.65 ms in 'block 3', the device's 2nd"),
            "device # was idle for # ms in 'block 3', the device's #nd");
  EXPECT_EQ(wordsOf("12.5. Then"), "#. Then");
}

TEST(Findings, LongTimesAreInSeconds) {
  EXPECT_EQ(withSeconds("it waited 12853.75 ms, the others 999.99 ms, in '2000 ms'"),
            "it waited 12.854 s, the others 999.99 ms, in '2000 ms'");
  EXPECT_EQ(withSeconds("of 0.02 ms, 1.234567 ms, 0.000040 ms and 0.000000 ms"), "of 20 µs, 1.23 ms, 40 ns and 0 ms");
}

TEST(Findings, OfSeveralRanksAreOneWithTheLargestGain) {
  const auto groups = groupFindings({finding("idle", 0, "device 0 was idle for 5.1 ms", 5'100),
                                     finding("idle", 2, "device 2 was idle for 7.0 ms", 7'000),
                                     finding("idle", 1, "device 1 was idle for 6.3 ms", 6'300)},
                                    3);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].rank, 2);
  EXPECT_THAT(groups[0].ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(groups[0].whom, "ranks 0-2");
  EXPECT_EQ(groups[0].gain, Duration(7'000));
  EXPECT_EQ(groups[0].leastGain, Duration(5'100));
}

TEST(Findings, OfOneRankStayApartAndSoDoOtherPlacesOfTheCode) {
  const auto groups =
      groupFindings({finding("waits", 0, "10 waits in 'a'", 5), finding("waits", 1, "10 waits in 'b'", 4),
                     finding("waits", 0, "20 waits in 'a'", 3)},
                    2);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[2].whom, "rank 0");
}

TEST(Findings, OfTwoRulesAboutTheSameEventsAreOneWithBothRemedies) {
  std::vector<Finding> findings = {finding("little_used", 0, "it worked 16 %", 6'330),
                                   finding("launches", 0, "it was idle", 6'320),
                                   finding("launches", 0, "others", 6'310)};
  for (Finding& one : findings) {
    one.title = one.rule;
    one.remedy = "See " + one.rule + ".";
  }
  findings[0].evidence = findings[1].evidence = {"kernel 152"};
  findings[2].evidence = {"kernel 7"};
  const auto folded = foldSame(findings);
  ASSERT_EQ(folded.size(), 2u);
  EXPECT_EQ(folded[0].rule, "launches");
  EXPECT_EQ(folded[0].gain, Duration(6'320));
  EXPECT_EQ(folded[0].finding, "it was idle; also \"little_used\": it worked 16 %");
  EXPECT_EQ(folded[0].remedy, "See launches. Or: See little_used.");
}

TEST(Findings, OfProcessesWithoutRanksNameThemWhenThereAreSeveral) {
  const std::vector<Finding> findings = {finding("idle", {}, "device 0 was idle for 5 ms", 5)};
  EXPECT_EQ(groupFindings(findings, 2).at(0).whom, "process 4000");
  EXPECT_EQ(groupFindings(findings, 1).at(0).whom, "");
}

// Two ranks of a run that has much to be said about it.
void addPoorRun(TraceBuilder& trace) {
  for (int64_t r = 0; r < 2; ++r) {
    const Host host{trace, OneRank(trace, r, 2)};
    for (int64_t i = 0; i < 20; ++i) {
      const int64_t begin = i * kMs;
      trace.addRange(host.rank.process, host.rank.thread, begin, kMs, "ProfilerStep#" + std::to_string(i));
      for (int64_t k = 0; k < 30; ++k) host.launch(begin + k * 3 * kUs, begin + k * 3 * kUs + 3 * kUs, kUs, "sgemm");
      trace.addCopy(host.rank.work(begin + 100 * kUs, 200 * kUs, host.call(begin + 100 * kUs, 250 * kUs, "cudaMemcpy")),
                    1 << 20, 1, 1, 3);
      host.call(begin + 360 * kUs, 200 * kUs, "cudaDeviceSynchronize");
      trace.addKernel(host.rank.work(begin + 400 * kUs, 150 * kUs + r * 50 * kUs), "ncclDevKernel_AllReduce_Sum_f32");
    }
  }
  trace.execute("UPDATE memory_copy SET is_async = 0");
}

TEST(Findings, EachHasItsNumbersItsPlaceItsRowsAndItsRemedy) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addPoorRun(trace);
  }
  const Advice advice = adviceOn(file);
  EXPECT_GE(advice.findings.size(), 5u);
  for (const auto* findings : {&advice.findings, &advice.small}) {
    for (const Finding& one : *findings) {
      EXPECT_FALSE(one.finding.empty() || one.arithmetic.empty() || one.remedy.empty()) << one.rule;
      EXPECT_TRUE(one.where) << one.rule;
      EXPECT_FALSE(one.evidence.empty()) << one.rule;
      EXPECT_FALSE(one.whom.empty()) << one.rule;
    }
  }
  std::vector<std::pair<std::string, std::string>> said;
  for (const Finding& one : advice.findings) said.emplace_back(one.rule, wordsOf(one.finding));
  std::ranges::sort(said);
  EXPECT_EQ(std::ranges::adjacent_find(said), said.end()) << "one cause is one finding";
  for (const Finding& one : advice.findings) EXPECT_THAT(one.finding, testing::Not(HasSubstr("ProfilerStep#")));
}

TEST(Findings, RemediesFitTheOperation) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (int64_t r = 0; r < 2; ++r) {
      const OneRank rank(trace, r, 2);
      trace.addKernel(rank.work(0, 500 * kUs), "gemm");
      trace.addKernel(rank.work(500 * kUs, 100 * kUs), "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
      trace.addKernel(rank.work(600 * kUs, 90 * kUs), "ncclDevKernel_SendRecv");
      trace.addKernel(rank.work(690 * kUs, 80 * kUs), "ncclDevKernel_AllGather_RING_LL");
    }
  }
  const Advice advice = adviceOn(file);
  std::vector<std::string> remedies;
  for (const Finding& one : advice.findings) {
    if (one.rule == "exposed_communication") remedies.push_back(one.remedy);
  }
  ASSERT_EQ(remedies.size(), 3u);
  EXPECT_THAT(remedies[0], HasSubstr("bucket_cap_mb"));
  EXPECT_THAT(remedies[1], HasSubstr("async_op=True"));
  EXPECT_THAT(remedies[2], HasSubstr("set_modules_to_forward_prefetch"));
}

TEST(Findings, RemediesFitTheProgram) {
  for (const bool isTorch : {true, false}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      const Host host{trace, OneRank(trace)};
      trace.addRange(host.rank.process, host.rank.thread, 0, 50 * 100 * kUs, "loop");
      for (int64_t i = 0; i < 50; ++i) {
        host.launch(i * 100 * kUs, i * 100 * kUs + 3 * kUs, 60 * kUs, isTorch ? "at::native::add(int)" : "add");
      }
    }
    const auto finding = findingOf(adviceOn(file), "launch_bound");
    ASSERT_TRUE(finding);
    EXPECT_THAT(finding->remedy, HasSubstr("CUDA graph"));
    EXPECT_EQ(finding->remedy.find("torch") != std::string::npos, isTorch);
  }
}

TEST(Findings, WaitingForALateRankIsNotExposedCommunication) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (int64_t r = 0; r < 2; ++r) {
      const OneRank rank(trace, r, 2);
      trace.addKernel(rank.work(0, 1000 * kUs), "gemm");
      trace.addKernel(rank.work(r == 0 ? kMs : 1400 * kUs, r == 0 ? 500 * kUs : 100 * kUs), "ncclDevKernel_SendRecv");
      trace.addKernel(rank.work(1500 * kUs, 500 * kUs), "gemm");
    }
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "exposed_communication"), 100 * kUs);
  EXPECT_EQ(gainOf(advice, "waiting_for_ranks"), 400 * kUs);
  EXPECT_THAT(findingOf(advice, "waiting_for_ranks")->finding, HasSubstr("mostly that of rank 1"));
}

}  // namespace
}  // namespace plumb::test
