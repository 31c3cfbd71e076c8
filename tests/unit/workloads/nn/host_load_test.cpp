// SPDX-License-Identifier: Apache-2.0
#include "workloads/nn/host_load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace plumb::test {
namespace {

using nn::HostLoad;
using nn::HostLoadMeter;

TEST(CoreTimes, AreReadFromTheFirstLineOfLinuxsAccounts) {
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto times = nn::parseCoreTimes("cpu  100 20 30 1000 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->busy, 171 / ticks);
  EXPECT_DOUBLE_EQ(times->idle, 1050 / ticks);
}

TEST(CoreTimes, OldLinuxHasNoStolenTime) { ASSERT_TRUE(nn::parseCoreTimes("cpu 1 2 3 4 5 6 7\n")); }

TEST(CoreTimes, AreNotMadeUp) {
  for (const char* text : {"", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7", "cpu a b c d e f g"})
    EXPECT_FALSE(nn::parseCoreTimes(text)) << text;
}

TEST(HostLoad, IsBusyWhenOthersTookCoresAndNoneWasLeftOver) {
  EXPECT_FALSE((HostLoad{2, 0.0, 2.0}.busy())) << "idle";
  EXPECT_FALSE((HostLoad{2, 0.02, 0.0}.busy())) << "this program itself takes both cores";
  EXPECT_FALSE((HostLoad{64, 30.0, 20.0}.busy())) << "others work, but cores are left over";
  EXPECT_TRUE((HostLoad{2, 1.5, 0.1}.busy()));
  EXPECT_EQ((HostLoad{2, 1.66, 0.0}.describe()), "other programs took 1.7 of 2 cores");
}

TEST(HostLoad, AccountsForTheWholeMachine) {
  const HostLoadMeter meter;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < until) {
  }
  const HostLoad load = meter.load();
  EXPECT_GE(load.cores, 1.0);
  EXPECT_GE(load.others, 0.0);
  EXPECT_LE(load.others, 1.2 * load.cores);
  EXPECT_LE(meter.load(1000.0).others, 0.0) << "what peers of the run have used is not others'";
}

}  // namespace
}  // namespace plumb::test
