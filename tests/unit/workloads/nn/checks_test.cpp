// SPDX-License-Identifier: Apache-2.0
// When a workload fails: always for a wrong result; for a wrong time only on a machine that was free to give a right one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/nn/checks.h"

namespace plumb::test {
namespace {

using nn::Checks;
using nn::HostLoad;
using nn::HostLoadMeter;
using nn::TimeClaim;
using testing::HasSubstr;

Checks onAMachineWith(HostLoad load) {
  return Checks([load](const HostLoadMeter&, double) { return load; });
}
constexpr HostLoad kFree{2, 0.0, 1.5};
constexpr HostLoad kBusy{2, 1.8, 0.0};

struct Printed {
  bool passed;
  std::string text;
};
Printed print(const Checks& checks) {
  testing::internal::CaptureStdout();
  const bool passed = checks.print();
  return {passed, testing::internal::GetCapturedStdout()};
}

TEST(WorkloadChecks, AWrongResultFailsOnABusyMachineToo) {
  Checks checks = onAMachineWith(kBusy);
  checks.expect(true, "one and one", "2");
  checks.expect(false, "two and two", "5");
  const Printed printed = print(checks);
  EXPECT_FALSE(printed.passed);
  EXPECT_EQ(printed.text, "\nok      one and one (2)\nFAILED  two and two (5)\n");
}

TEST(WorkloadChecks, AClaimAboutTimesThatHoldsIsMeasuredOnce) {
  Checks checks = onAMachineWith(kBusy);
  int more = 0;
  checks.expectTimes(
      "fast",
      [] {
        return TimeClaim{true, "1 ms"};
      },
      [&] { ++more; });
  EXPECT_EQ(more, 0);
  EXPECT_TRUE(print(checks).passed);
}

TEST(WorkloadChecks, OneThatDoesNotIsMeasuredAgainUntilItHolds) {
  Checks checks = onAMachineWith(kFree);
  int measured = 1;
  checks.expectTimes(
      "fast",
      [&] {
        return TimeClaim{measured == 3, std::to_string(measured) + " ms"};
      },
      [&] { ++measured; });
  const Printed printed = print(checks);
  EXPECT_TRUE(printed.passed);
  EXPECT_THAT(printed.text, HasSubstr("ok      fast (3 ms)"));
}

TEST(WorkloadChecks, OneThatNeverHoldsFailsOnAFreeMachine) {
  Checks checks = onAMachineWith(kFree);
  int measured = 1;
  checks.expectTimes(
      "fast",
      [] {
        return TimeClaim{false, "9 ms"};
      },
      [&] { ++measured; });
  const Printed printed = print(checks);
  EXPECT_FALSE(printed.passed);
  EXPECT_EQ(measured, Checks::kAttempts);
  EXPECT_THAT(printed.text, HasSubstr("FAILED  fast (9 ms)"));
}

TEST(WorkloadChecks, AndIsNotJudgedWhereOthersTookTheCores) {
  Checks checks = onAMachineWith(kBusy);
  checks.expectTimes(
      "fast",
      [] {
        return TimeClaim{false, "9 ms"};
      },
      [] {});
  const Printed printed = print(checks);
  EXPECT_TRUE(printed.passed);
  EXPECT_THAT(printed.text,
              HasSubstr("busy    fast (not judged, the machine is busy: other programs took 1.8 of 2 cores; 9 ms)"));
}

}  // namespace
}  // namespace plumb::test
