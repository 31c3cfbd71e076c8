// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cupti/faults.h"

#include <gtest/gtest.h>

namespace softcuda {
namespace {

int hits(Faults& faults, Fault fault, int occasions) {
  int count = 0;
  for (int i = 0; i < occasions; ++i) count += faults.due(fault) ? 1 : 0;
  return count;
}

TEST(Faults, NoneUnlessAskedFor) {
  Faults faults("");
  EXPECT_FALSE(faults.any());
  EXPECT_EQ(hits(faults, Fault::kDrop, 100), 0);
}

TEST(Faults, SpareTheFirstAndHitOneInEvery) {
  Faults faults("drop:after=10:every=5,twice,shifted_epoch:by=60");
  EXPECT_TRUE(faults.any());
  EXPECT_EQ(hits(faults, Fault::kDrop, 10), 0);
  EXPECT_EQ(hits(faults, Fault::kDrop, 20), 4);
  EXPECT_EQ(hits(faults, Fault::kTwice, 3), 3);
  EXPECT_EQ(hits(faults, Fault::kBadTimes, 3), 0);
  EXPECT_EQ(faults.value(Fault::kShiftedEpoch), 60u);
}

TEST(Faults, DamageRecords) {
  Faults faults("bad_times:after=1,no_names:every=2,drop:after=2:every=1");
  CUpti_ActivityKernel10 kernel{};
  const auto next = [&] {
    kernel.name = "kernel";
    kernel.start = 100;
    kernel.end = 200;
    return faults.apply(kernel);
  };
  EXPECT_TRUE(next());
  EXPECT_EQ(kernel.start, 100u);
  EXPECT_STREQ(kernel.name, "kernel");
  EXPECT_TRUE(next());
  EXPECT_EQ(kernel.start, 0u);
  EXPECT_EQ(kernel.end, 0u);
  EXPECT_EQ(kernel.name, nullptr);
  EXPECT_FALSE(next());
}

TEST(Faults, WhatIsNotUnderstoodIsSaidAndLeftOut) {
  for (const char* list : {"drops", "drop:each=3", "drop:every=x", "drop:every=", "drop:every=0", "drop:by=3"}) {
    testing::internal::CaptureStderr();
    Faults faults(list);
    EXPECT_FALSE(faults.any()) << list;
    EXPECT_NE(testing::internal::GetCapturedStderr().find(list), std::string::npos);
  }
}

}  // namespace
}  // namespace softcuda
