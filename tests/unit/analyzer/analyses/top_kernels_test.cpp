// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/top_kernels.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(TopKernels, AddsUpOverRanks) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank first(trace, 0, 2), second(trace, 1, 2);
    trace.addKernel(first.work(0, 100), "gemm");
    trace.addKernel(second.work(0, 300), "gemm");
    trace.addKernel(second.work(400, 50), "ncclDevKernel_AllGather");
    trace.addKernel(second.work(500, 999, 0, 1), "gemm");  // no usable time
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const TopKernels top = valueOf(totalKernels(trace));
  ASSERT_EQ(top.kernels.size(), 2u);
  EXPECT_EQ(top.kernels[0].name, "gemm");
  EXPECT_EQ(top.kernels[0].count, 2);
  EXPECT_EQ(top.kernels[0].total, Duration(400));
  EXPECT_EQ(top.kernels[0].shortest, Duration(100));
  EXPECT_EQ(top.kernels[0].longest, Duration(300));
  EXPECT_TRUE(top.kernels[1].isCommunication);
  EXPECT_EQ(top.total, Duration(450));
  EXPECT_TRUE(top.byName);
}

}  // namespace
}  // namespace plumb::test
