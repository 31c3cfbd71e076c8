// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/analyzer/testing.h"

namespace plumb::compare {
namespace {

using test::OneRank;
using test::TraceBuilder;
using test::valueOf;
using testing::HasSubstr;

constexpr int64_t kUs = 1'000;

// A second file of the same test.
class File {
 public:
  explicit File(const char* name) : m_path(testing::TempDir() + "plumb." + std::to_string(getpid()) + "." + name) {}
  ~File() { std::remove(m_path.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return m_path; }

 private:
  std::string m_path;
};

struct RunSpec {
  std::vector<int64_t> gemmUs;  // one step each
  int64_t ranks = 1;
  std::string second = "";  // another kernel in each step
  bool hasSteps = true;
  int64_t peakBytes = 1000;
  int64_t secondUs = 10;
  int64_t loadUs = 0;           // at the beginning of each step, before its work
  int64_t onOtherDeviceUs = 0;  // a kernel of each step beside the gemm, on another device of the rank
};

Trace makeRun(const File& file, const RunSpec& spec) {
  {
    TraceBuilder trace(file.path());
    for (int64_t r = 0; r < spec.ranks; ++r) {
      const OneRank rank(trace, r, spec.ranks);
      trace.addAllocation(
          {.process = rank.process, .device = rank.device, .startNs = 0, .address = 4096, .bytes = spec.peakBytes});
      TraceBuilder::Work elsewhere = rank.work(0, spec.onOtherDeviceUs * kUs);
      if (spec.onOtherDeviceUs > 0) {
        elsewhere.device = trace.addDevice(rank.process, {.ordinal = 1});
        elsewhere.stream = trace.addStream(rank.process, elsewhere.device, 7);
      }
      int64_t begin = 0;
      for (const int64_t us : spec.gemmUs) {
        const int64_t length = us * kUs + 20 * kUs + spec.secondUs * kUs;
        if (spec.hasSteps) trace.addRange(rank.process, rank.thread, begin, spec.loadUs * kUs + length, "step");
        begin += spec.loadUs * kUs;
        const auto launchOn = [&](TraceBuilder::Work work, const std::string& name) {
          work.correlation = trace.newCorrelation();
          trace.addApiCall(rank.process, rank.thread, work.startNs - kUs, kUs / 2, "cudaLaunchKernel",
                           work.correlation);
          trace.addKernel(work, name);
        };
        const auto launch = [&](int64_t start, int64_t duration, const std::string& name) {
          launchOn(rank.work(start, duration), name);
        };
        launch(begin + 2 * kUs, us * kUs, "gemm");
        if (spec.onOtherDeviceUs > 0) {
          elsewhere.startNs = begin + 2 * kUs;
          launchOn(elsewhere, "elsewhere");
        }
        if (!spec.second.empty()) launch(begin + 5 * kUs + us * kUs, spec.secondUs * kUs, spec.second);
        begin += length;
      }
    }
  }
  return valueOf(Trace::open(file.path()));
}

Comparison compare(const RunSpec& a, const RunSpec& b) {
  const File fileA("a.sqlite"), fileB("b.sqlite");
  Trace left = makeRun(fileA, a), right = makeRun(fileB, b);
  return valueOf(compareRuns(left, right));
}

const Difference& rowOf(const Comparison& comparison, Subject subject, const std::string& name) {
  const auto found = std::ranges::find_if(
      comparison.rows, [&](const Difference& row) { return row.subject == subject && row.name == name; });
  if (found == comparison.rows.end()) throw std::runtime_error("no row " + name);
  return *found;
}

TEST(CompareRuns, OfTheSameProgramShowsNoDifference) {
  const Comparison comparison = compare({{100, 103, 98, 101, 99, 102}}, {{101, 99, 100, 102, 98, 103}});
  const Difference& step = rowOf(comparison, Subject::Step, "step");
  EXPECT_EQ(step.verdict, "no difference shown");
  ASSERT_TRUE(step.low && step.high);
  EXPECT_LT(*step.low, 0);
  EXPECT_GT(*step.high, 0);
  EXPECT_EQ(rowOf(comparison, Subject::Kernel, "gemm").verdict, "no difference shown");
  EXPECT_EQ(comparison.note, "");
}

TEST(CompareRuns, OfASlowerVariantSaysWhatIsSlowerAndByHowMuch) {
  const Comparison comparison = compare({{100, 103, 98, 101, 99, 102}}, {{121, 119, 120, 122, 118, 123}});
  const Difference& kernel = rowOf(comparison, Subject::Kernel, "gemm");
  EXPECT_EQ(kernel.verdict, "slower");
  EXPECT_EQ(kernel.status, "in both");
  EXPECT_DOUBLE_EQ(*kernel.a, 100.5 * kUs);
  EXPECT_DOUBLE_EQ(*kernel.b, 120.5 * kUs);
  EXPECT_DOUBLE_EQ(*kernel.change, 20.0 * kUs);
  EXPECT_NEAR(*kernel.changePct, 19.9, 0.01);
  EXPECT_DOUBLE_EQ(kernel.callsA, 1);
  // scipy: ttest_ind(b, a, equal_var=False).confidence_interval(0.95), in µs
  EXPECT_NEAR(*kernel.low / kUs, 17.5934, 1e-3);
  EXPECT_NEAR(*kernel.high / kUs, 22.4066, 1e-3);
  EXPECT_EQ(rowOf(comparison, Subject::Step, "step").verdict, "slower");
  EXPECT_EQ(comparison.rows.front().subject, Subject::Step);
}

TEST(CompareRuns, TheVerdictIsASentence) {
  const std::vector<int64_t> a = {100, 103, 98, 101, 99, 102};
  EXPECT_THAT(verdictSentence(compare({a}, {{121, 119, 120, 122, 118, 123}})),
              testing::StartsWith("B is slower: +15.2 % per step from start to start (+19.8 µs, 95 % interval "));
  EXPECT_THAT(verdictSentence(compare({a}, {{101, 99, 100, 102, 98, 103}})),
              testing::StartsWith("No difference in the time per step is shown, because the interval spans zero: "));
  EXPECT_THAT(verdictSentence(compare({{100}}, {{300}})), testing::EndsWith("are too few (3 are needed)."));
  EXPECT_THAT(verdictSentence(compare({a, 1, "", false}, {a})), HasSubstr("because A has no steps"));
}

TEST(CompareRuns, ThatShareNextToNothingAreCalledSoBeforeAnyVerdict) {
  const std::vector<int64_t> gemm = {2, 3, 2, 3, 2, 3};
  const Comparison strangers = compare({gemm, 1, "attention", true, 1000, 100}, {gemm, 1, "stencil", true, 1000, 100});
  ASSERT_TRUE(strangers.shared);
  EXPECT_THAT(verdictSentence(strangers), testing::StartsWith("The runs share next to nothing (work of the same names "
                                                              "takes 2.4 % of A's time and 2.4 % of B's)"));
  EXPECT_THAT(verdictSentence(compare({gemm, 1, "attention"}, {gemm, 1, "attention", true, 1000, 12})),
              testing::Not(HasSubstr("share next to nothing")));
}

// Loading data lies between the spans of the device's work: a user waits for it all the same.
TEST(CompareRuns, SlowerLoadingIsSlowerThoughTheSpanIsTheSame) {
  const std::vector<int64_t> gemm = {100, 103, 98, 101, 99, 102};
  const Comparison comparison = compare({gemm}, {gemm, 1, "", true, 1000, 10, 60});
  EXPECT_EQ(comparison.rows.front().name, kStartToStart);
  EXPECT_EQ(comparison.rows.front().verdict, "slower");
  EXPECT_DOUBLE_EQ(*comparison.rows.front().change, 60.0 * kUs);
  EXPECT_EQ(rowOf(comparison, Subject::Step, kGpuSpan).verdict, "no difference shown");
  EXPECT_THAT(verdictSentence(comparison), testing::StartsWith("B is slower: +46.1 % per step from start to start "));
  EXPECT_THAT(verdictSentence(comparison), testing::EndsWith("; its GPU span: +0.0 % (+0.0 µs), no difference shown."));
}

// Of three steps there are two times to the next one.
TEST(CompareRuns, OfThreeStepsTheSpanDecides) {
  EXPECT_THAT(verdictSentence(compare({{100, 101, 99}}, {{200, 201, 199}})),
              testing::StartsWith("B is slower: +100.0 % per step (+100.0 µs, 95 % interval "));
}

TEST(CompareRuns, TheOtherWayRoundIsFaster) {
  EXPECT_EQ(rowOf(compare({{200, 201, 199, 200}}, {{100, 101, 99, 100}}), Subject::Kernel, "gemm").verdict, "faster");
}

TEST(CompareRuns, OfTheSameTimePerCallSaysThatThereAreFewerCalls) {
  // A calls the kernel "gemm" twice in a step, B once; each call takes as long.
  const Comparison comparison = compare({{100, 101, 99, 100}, 1, "gemm", true, 1000, 100}, {{100, 101, 99, 100}});
  EXPECT_EQ(rowOf(comparison, Subject::Kernel, "gemm").verdict, "fewer calls");
  EXPECT_EQ(rowOf(comparison, Subject::Step, "step").verdict, "faster");
  const Comparison back = compare({{100, 101, 99, 100}}, {{100, 101, 99, 100}, 1, "gemm", true, 1000, 100});
  EXPECT_EQ(rowOf(back, Subject::Kernel, "gemm").verdict, "more calls");
  // Twice as many calls that also take longer each are slower.
  const Comparison slower = compare({{100, 101, 99, 100}}, {{200, 201, 199, 200}, 1, "gemm", true, 1000, 200});
  EXPECT_EQ(rowOf(slower, Subject::Kernel, "gemm").verdict, "slower");
}

TEST(CompareRuns, NamesAddedAndRemovedKernels) {
  const Comparison comparison =
      compare({{100, 101, 102, 103}, 1, "old_kernel"}, {{100, 101, 102, 103}, 1, "new_kernel"});
  const Difference& removed = rowOf(comparison, Subject::Kernel, "old_kernel");
  EXPECT_EQ(removed.status, "removed");
  EXPECT_DOUBLE_EQ(*removed.change, -10.0 * kUs);
  EXPECT_FALSE(removed.b);
  const Difference& added = rowOf(comparison, Subject::Kernel, "new_kernel");
  EXPECT_EQ(added.status, "added");
  EXPECT_EQ(added.verdict, "only in B");
  EXPECT_FALSE(added.changePct);
}

TEST(CompareRuns, WithTooFewStepsGivesNoVerdict) {
  const Comparison comparison = compare({{100, 101}}, {{300, 301}});
  EXPECT_THAT(rowOf(comparison, Subject::Step, "step").verdict, HasSubstr("cannot say"));
}

TEST(CompareRuns, WithoutStepsGivesNumbersButNoVerdict) {
  const Comparison comparison = compare({{100}, 1, "", false}, {{300}, 1, "", false});
  const Difference& kernel = rowOf(comparison, Subject::Kernel, "gemm");
  EXPECT_DOUBLE_EQ(*kernel.change, 200.0 * kUs);
  EXPECT_EQ(kernel.verdict, "cannot say, because a run without steps is one observation");
}

TEST(CompareRuns, OfOneRankMoreComparesPerRankAndSaysSo) {
  const Comparison comparison = compare({{100, 101, 102, 103}, 2}, {{100, 101, 102, 103}, 3});
  EXPECT_EQ(comparison.note, "The numbers of ranks differ: 2 and 3.");
  const Difference& kernel = rowOf(comparison, Subject::Kernel, "gemm");
  EXPECT_DOUBLE_EQ(*kernel.change, 0);
  EXPECT_EQ(kernel.verdict, "no difference shown");
}

TEST(CompareRuns, MemoryPeaks) {
  const Comparison comparison = compare({{100, 101, 102}, 1, "", true, 1000}, {{100, 101, 102}, 1, "", true, 1500});
  const auto found = std::ranges::find(comparison.rows, Subject::MemoryPeak, &Difference::subject);
  ASSERT_NE(found, comparison.rows.end());
  EXPECT_EQ(found->verdict, "more");
  EXPECT_EQ(found->change, 500);
}

TEST(CompareRuns, SaysWhereTheGpuTimeOfAStepWent) {
  const Comparison comparison = compare({{100, 103, 98, 101, 99, 102}, 1, "ncclDevKernel_AllReduce"},
                                        {{121, 119, 120, 122, 118, 123}, 1, "ncclDevKernel_AllReduce"});
  const Difference& compute = rowOf(comparison, Subject::Breakdown, "compute");
  EXPECT_DOUBLE_EQ(*compute.change, 20.0 * kUs);
  EXPECT_EQ(compute.verdict, "more");
  ASSERT_TRUE(compute.low && compute.high);
  EXPECT_GT(*compute.low, 0);
  // 10 us of communication behind nothing, 3 us after the kernel before it.
  const Difference& exposed = rowOf(comparison, Subject::Breakdown, "exposed communication");
  EXPECT_DOUBLE_EQ(*exposed.a, 10.0 * kUs);
  EXPECT_EQ(exposed.verdict, "no difference shown");
  EXPECT_DOUBLE_EQ(*rowOf(comparison, Subject::Breakdown, "idle").a, 3.0 * kUs);
  EXPECT_DOUBLE_EQ(*rowOf(comparison, Subject::Breakdown, "communication behind compute (overlap)").b, 0);
  EXPECT_EQ(comparison.rows[2].subject, Subject::Breakdown);
}

// Two devices of one process: the slower one counts, though the other has more to do.
TEST(CompareRuns, ASlowerSecondDeviceIsASlowerStep) {
  RunSpec spec{{100, 103, 98, 101, 99, 102}, 1, "gemm"};
  spec.onOtherDeviceUs = 50;
  RunSpec slower = spec;
  slower.onOtherDeviceUs = 200;
  const Comparison comparison = compare(spec, slower);
  EXPECT_EQ(rowOf(comparison, Subject::Kernel, "elsewhere").verdict, "slower");
  const Difference& step = rowOf(comparison, Subject::Step, kGpuSpan);
  EXPECT_EQ(step.verdict, "slower");
  EXPECT_DOUBLE_EQ(*step.b, 200.0 * kUs);
  EXPECT_EQ(rowOf(comparison, Subject::Breakdown, "compute").verdict, "more");
}

TEST(CompareRuns, WithoutStepsHasNoGpuTimePerStep) {
  const Comparison comparison = compare({{100}, 1, "", false}, {{300}, 1, "", false});
  EXPECT_TRUE(
      std::ranges::none_of(comparison.rows, [](const Difference& row) { return row.subject == Subject::Breakdown; }));
}

TEST(CompareRuns, MemoryPeaksByCategory) {
  const File fileA("a.sqlite"), fileB("b.sqlite");
  const auto make = [](const File& file, int64_t parameters, const char* other) {
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      int64_t address = 4096;
      for (const auto& [name, bytes] : {std::pair<std::string, int64_t>("parameter/w", parameters), {other, 300}}) {
        trace.addAllocation(
            {.process = rank.process, .device = rank.device, .startNs = 0, .address = address, .bytes = bytes});
        trace.addRegion(rank.process, 1, address, bytes, name);
        address += 1 << 20;
      }
    }
    return valueOf(Trace::open(file.path()));
  };
  Trace a = make(fileA, 1000, "activation/x"), b = make(fileB, 1500, "workspace/x");
  const Comparison comparison = valueOf(compareRuns(a, b));
  const Difference& parameters = rowOf(comparison, Subject::MemoryCategory, "parameter");
  EXPECT_EQ(parameters.change, 500);
  EXPECT_EQ(parameters.verdict, "more");
  EXPECT_EQ(rowOf(comparison, Subject::MemoryCategory, "activation").verdict, "only in A");
  EXPECT_EQ(rowOf(comparison, Subject::MemoryCategory, "workspace").verdict, "only in B");
}

}  // namespace
}  // namespace plumb::compare
