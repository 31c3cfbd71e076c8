// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/roofline_step.h"

#include <gtest/gtest.h>

#include "analyzer/analyses/operator_work.h"
#include "analyzer/analyses/roofline.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(OperatorWork, MatrixProducts) {
  const auto mm = workOfOperator("aten::mm", "[[64, 3], [3, 5]]", R"(["c10::BFloat16", "c10::BFloat16"])", "");
  ASSERT_TRUE(mm);
  EXPECT_EQ(mm->flops, 2.0 * 64 * 3 * 5);
  EXPECT_EQ(mm->bytes, 2.0 * (64 * 3 + 3 * 5 + 64 * 5));
  EXPECT_EQ(mm->precision, "bf16");
  EXPECT_FALSE(mm->precisionAssumed);
  const auto addmm = workOfOperator("aten::addmm", "[[5], [64, 3], [3, 5], [], []]",
                                    R"(["float", "float", "float", "Scalar", "Scalar"])", "");
  EXPECT_EQ(addmm->flops, mm->flops);
  EXPECT_TRUE(addmm->precisionAssumed);
  EXPECT_EQ(workOfOperator("aten::bmm", "[[7, 64, 3], [7, 3, 5]]", R"(["float", "float"])", "")->flops, 7 * mm->flops);
  EXPECT_EQ(workOfOperator("aten::linear", "[[2, 32, 3], [5, 3], []]", R"(["float", "float", ""])", "")->flops,
            mm->flops);
}

TEST(OperatorWork, Convolutions) {
  const std::string types = R"(["float", "float", "", "", "", "", "", "", ""])";
  const auto forward =
      workOfOperator("aten::cudnn_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []]", types,
                     R"(["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"])");
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->flops, 2.0 * 2 * 4 * 4 * 4 * 3 * 3 * 3);  // 8 + 2 - 3 over 2, and one: 4
  const auto backward = workOfOperator(
      "aten::convolution_backward", "[[2, 4, 4, 4], [2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], [], []]",
      R"(["float", "float", "float", "", "", "", "", "", "", "", ""])",
      R"(["", "", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"])");
  ASSERT_TRUE(backward);
  EXPECT_EQ(backward->flops, 2 * forward->flops);
}

TEST(OperatorWork, WhatDoesNotFitSaysNothing) {
  const std::string types = R"(["float", "float"])";
  for (const char* dims :
       {"", "[", "[[64, 3]]", "[[64, 3], [4, 5]]", "[[], []]", "[[[64, 3]], [[3, 5]]]", "[[64, -3], [-3, 5]]",
        "[[0, 0], [0, 0]]", "{\"a\": 1}", "[[99999999999999999999, 3], [3, 5]]"}) {
    const auto work = workOfOperator("aten::mm", dims, types, "");
    EXPECT_FALSE(work) << dims;
  }
  EXPECT_FALSE(workOfOperator("aten::mm", "[[64, 3], [3, 5]]", R"(["long int", "long int"])", ""));
  EXPECT_FALSE(hasWorkFormula("aten::argsort"));
  EXPECT_TRUE(hasWorkFormula("aten::addmm"));
}

TEST(RooflineOperators, AnOperatorsKernelsHaveItsWork) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRoof(rank.process, 0, "bf16", 1e12);
    trace.addRoof(rank.process, 0, "memory", 1e11);
    const std::string dims = std::to_string(trace.text("[[1000, 1000], [1000, 1000]]")),
                      types = std::to_string(trace.text(R"(["c10::BFloat16", "c10::BFloat16"])")),
                      name = std::to_string(trace.text("aten::mm"));
    trace.execute("INSERT INTO operator_argument_set VALUES (1, " + dims + ", " + types + ", 0, 0, 0)");
    for (int64_t i = 1; i <= 2; ++i) {
      trace.execute(
          "INSERT INTO operator (id, process_id, thread_id, start_ns, duration_ns, name_id, argument_set_id)"
          " VALUES (" +
          std::to_string(i) + ", " + std::to_string(rank.process) + ", " + std::to_string(rank.thread) + ", 0, 50, " +
          name + ", 1)");
      trace.execute("INSERT INTO operator_launch VALUES (" + std::to_string(rank.process) + ", " + std::to_string(i) +
                    ", " + std::to_string(i) + ")");
      trace.addKernel(rank.work(100 * i, 4'000'000, i), i == 1 ? "gemm_a" : "gemm_b");
    }
    trace.addKernel(rank.work(10'000'000, 500), "elementwise");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const DeviceRoofline byKernel = valueOf(analyzeRoofline(trace)).at(0);
  ASSERT_EQ(byKernel.points.size(), 2u);
  EXPECT_EQ(byKernel.points[0].operation, "aten::mm");
  EXPECT_EQ(byKernel.points[0].source, WorkSource::Shape);
  EXPECT_DOUBLE_EQ(byKernel.points[0].flops, 2e9);
  EXPECT_DOUBLE_EQ(*byKernel.points[0].computeShare, 0.5);
  const DeviceRoofline byOp = valueOf(analyzeRoofline(trace, {}, RooflineBy::Operation)).at(0);
  ASSERT_EQ(byOp.points.size(), 1u);
  EXPECT_EQ(byOp.points[0].name, "");
  EXPECT_DOUBLE_EQ(byOp.points[0].flops, 4e9);
  EXPECT_EQ(byOp.points[0].kernelCount, 2);
  ASSERT_EQ(byOp.withoutFlops.size(), 1u);
  Filter late;
  late.from = TimePoint(150);
  EXPECT_EQ(valueOf(analyzeRoofline(trace, late)).at(0).points.size(), 1u);
}

TEST(RooflineStep, TheSlowestResourceIsTheBound) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace, 0, 2);
    trace.addRoof(rank.process, 0, "bf16", 1e12);
    trace.addRoof(rank.process, 0, "memory", 1e11);
    trace.addRoof(rank.process, 0, "network", 1e9);
    const int64_t communicator = trace.addCommunicator(rank.process, 5, 2, 0);
    for (int64_t step = 0; step < 2; ++step) {
      const int64_t begin = 10'000'000 * step;
      trace.addRange(rank.process, rank.thread, begin, 9'000'000, "step");
      const int64_t correlation = trace.newCorrelation();
      trace.addApiCall(rank.process, rank.thread, begin + 10, 5, "cudaLaunchKernel", correlation);
      trace.addKernel(rank.work(begin + 100, 4'000'000, correlation), "gemm");
      trace.addLibraryCall({.process = rank.process,
                            .thread = rank.thread,
                            .startNs = begin + 5,
                            .m = 1000,
                            .n = 1000,
                            .k = 1000,
                            .externalId = 1 + step,
                            .bytes = 6e6});
      trace.addLink(rank.process, 1 + step, correlation);
      if (step == 1) {
        trace.addCollective({.process = rank.process,
                             .thread = rank.thread,
                             .communicator = communicator,
                             .startNs = begin + 50,
                             .bytes = 3'000'000});
      }
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto steps = valueOf(stepRooflines(trace));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_DOUBLE_EQ(steps[0].flops, 2e9);
  EXPECT_DOUBLE_EQ(*steps[0].computeSeconds, 2e-3);
  EXPECT_DOUBLE_EQ(*steps[0].memorySeconds, 6e-5);
  EXPECT_EQ(steps[0].networkSeconds, std::nullopt);
  EXPECT_EQ(steps[0].bound, "compute");
  EXPECT_DOUBLE_EQ(*steps[0].boundShare, 0.5);
  EXPECT_DOUBLE_EQ(steps[1].sentBytes, 3e6);  // all-reduce of two: 2 (n - 1) / n = 1
  EXPECT_DOUBLE_EQ(*steps[1].networkSeconds, 3e-3);
  EXPECT_EQ(steps[1].bound, "network");
  EXPECT_DOUBLE_EQ(*steps[1].networkIntensity, 2e9 / 3e6);
}

TEST(RooflineStep, WithoutStepsThereAreNone) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(0, 10), "a");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_TRUE(valueOf(stepRooflines(trace)).empty());
}

}  // namespace
}  // namespace plumb::test
