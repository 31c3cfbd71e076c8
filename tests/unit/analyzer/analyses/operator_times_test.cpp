// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/operator_times.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

const OperatorTotals* find(const std::vector<OperatorTotals>& all, std::string_view name) {
  for (const OperatorTotals& totals : all) {
    if (totals.name == name) return &totals;
  }
  return nullptr;
}

TEST(Operators, OfAFrameworkNestByTheirParents) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const auto number = [](int64_t value) { return std::to_string(value); };
    const std::string common = number(rank.process) + "," + number(rank.thread);
    const std::string linear = number(trace.text("aten::linear")), mm = number(trace.text("aten::mm"));
    const std::string dims = number(trace.text("[[64, 3]]"));
    trace.execute("INSERT INTO operator_argument_set VALUES(1," + dims + ",0,0,0,0)");
    trace.execute(
        "INSERT INTO operator(id, process_id, thread_id, start_ns, duration_ns, name_id, parent_id,"
        " argument_set_id) VALUES(2," +
        common + ",20,50," + mm + ",1,1),(1," + common + ",0,100," + linear + ",NULL,NULL),(3," + common + ",200,30," +
        mm + ",NULL,NULL)");
    trace.execute("INSERT INTO operator_launch VALUES(" + number(rank.process) + ",7,2),(" + number(rank.process) +
                  ",8,1),(" + number(rank.process) + ",9,3)");
    trace.addKernel(rank.work(100, 40, 7), "gemm");
    trace.addKernel(rank.work(150, 5, 7), "reduce");
    trace.addKernel(rank.work(160, 10, 8), "bias");
    trace.addKernel(rank.work(300, 20, 9), "gemm");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto byName = valueOf(totalOperators(trace, {}, OperatorGrouping::Name));
  ASSERT_EQ(byName.size(), 2u);
  const OperatorTotals* linear = find(byName, "aten::linear");
  EXPECT_EQ(linear->cpuSelf, Duration(50));
  EXPECT_EQ(linear->gpuSelf, Duration(10));
  EXPECT_EQ(linear->gpuTotal, Duration(55));
  EXPECT_EQ(linear->gpuEventCount, 3);
  EXPECT_STREQ(linear->source, "framework");
  const OperatorTotals* mm = find(byName, "aten::mm");
  EXPECT_EQ(mm->gpuSelf, Duration(65));
  EXPECT_EQ(mm->gpuTotal, Duration(65));
  const auto byShape = valueOf(totalOperators(trace, {}, OperatorGrouping::Shape));
  ASSERT_EQ(byShape.size(), 3u);
  EXPECT_EQ(byShape[0].shape, "[[64, 3]]");
}

// The kernels of a graph belong to no operator: without them every share would be of next to nothing.
TEST(Operators, WorkOfNoOperatorIsAGroupOfItsOwnWithoutCalls) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace), stranger(trace, 1, 2);
    trace.addRange(rank.process, rank.thread, 0, 40, "aten::mm, seq = 7, op_id = 1", 0);
    trace.addApiCall(rank.process, rank.thread, 12, 3, "cudaLaunchKernel", 1);
    trace.addApiCall(rank.process, rank.thread, 60, 3, "cudaGraphLaunch", 2);
    trace.addKernel(rank.work(100, 30, 1), "gemm");
    trace.addKernel(rank.work(200, 600, 2), "of a graph");
    trace.addKernel(rank.work(800, 70, 2), "of a graph");
    trace.addKernel(stranger.work(0, 50), "of a process without operators");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto found = valueOf(totalOperators(trace, {}, OperatorGrouping::Name));
  ASSERT_EQ(found.size(), 2u);
  const OperatorTotals* rest = find(found, kNoOperatorName);
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(rest->gpuSelf, Duration(670));
  EXPECT_EQ(rest->gpuEventCount, 2);
  EXPECT_EQ(rest->cpu.count(), 0u);
  Filter early;
  early.to = TimePoint(50);
  EXPECT_EQ(find(valueOf(totalOperators(trace, early, OperatorGrouping::Name)), kNoOperatorName), nullptr);
}

TEST(Operators, NegativeNamesOfADamagedFileAreNone) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (const char* name : {"-1", "-5", "-2147483648", "-9223372036854775808"}) {
      trace.execute("INSERT INTO operator(process_id, thread_id, start_ns, duration_ns, name_id) VALUES(" +
                    std::to_string(rank.process) + "," + std::to_string(rank.thread) + ",0,50," + name + ")");
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto totals = valueOf(totalOperators(trace, {}, OperatorGrouping::Name));
  ASSERT_EQ(totals.size(), 4u);
  for (const OperatorTotals& one : totals) EXPECT_EQ(one.name, "");
}

TEST(Operators, OfOurOwnRecordingsAreLibraryCallsAndDeclaredRanges) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t range = trace.addRange(rank.process, rank.thread, 0, 100, "projection", 3);
    trace.addPayload(range, "flops", int64_t{1000});
    trace.addRange(rank.process, rank.thread, 0, 1000, "no operation", 2);
    trace.addLibraryCall({.process = rank.process,
                          .thread = rank.thread,
                          .startNs = 0,
                          .durationNs = 40,
                          .m = 2,
                          .n = 3,
                          .k = 4,
                          .computeType = "bf16",
                          .externalId = 5});
    trace.addLink(rank.process, 5, 77);
    trace.addKernel(rank.work(200, 30, 77), "gemm");
    trace.addApiCall(rank.process, rank.thread, 60, 5, "cudaLaunchKernel", 78);
    trace.addKernel(rank.work(240, 7, 78), "bias");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto found = valueOf(totalOperators(trace, {}, OperatorGrouping::Shape));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].shape, "m 2 n 3 k 4 bf16");
  EXPECT_EQ(found[0].gpuSelf, Duration(30));
  const OperatorTotals* range = find(found, "projection");
  EXPECT_EQ(range->gpuSelf, Duration(7));
  EXPECT_EQ(range->gpuTotal, Duration(37));
  EXPECT_EQ(range->cpuSelf, Duration(60));
}

TEST(Operators, OfTorchsNvtxRangesAreNamedWithoutTheirNumbers) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRange(rank.process, rank.thread, 0, 40, "aten::linear, seq = 7, op_id = 1, sizes = [[4, 3]]", 0);
    trace.addRange(rank.process, rank.thread, 10, 20, "aten::mm, op_id = 2, sizes = [[4, 3], [3, 5]]", 1);
    trace.addRange(rank.process, rank.thread, 50, 20, "aten::mm, op_id = 3, sizes = [[4, 3], [3, 5]]", 0);
    trace.addRange(rank.process, rank.thread, 80, 20, "my range", 0);
    trace.addApiCall(rank.process, rank.thread, 12, 3, "cudaLaunchKernel", 1);
    trace.addKernel(rank.work(100, 30, 1), "gemm");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto found = valueOf(totalOperators(trace, {}, OperatorGrouping::Shape));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(find(found, "aten::mm")->shape, "[[4, 3], [3, 5]]");
  EXPECT_EQ(find(found, "aten::mm")->gpuSelf, Duration(30));
  EXPECT_EQ(find(found, "aten::linear")->gpuTotal, Duration(30));
  EXPECT_EQ(find(found, "aten::linear")->cpuSelf, Duration(20));
}

TEST(Operators, ACircleOfParentsEnds) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const std::string common = std::to_string(rank.process) + "," + std::to_string(rank.thread);
    trace.execute(
        "INSERT INTO operator(id, process_id, thread_id, start_ns, duration_ns, name_id, parent_id) VALUES(1," +
        common + ",0,10,0,2),(2," + common + ",0,10,0,1),(3," + common + ",0,10,0,3)");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_EQ(valueOf(totalOperators(trace, {}, OperatorGrouping::Name)).size(), 1u);
}

}  // namespace
}  // namespace plumb::test
