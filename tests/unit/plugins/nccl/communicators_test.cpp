// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/communicators.h"

#include <gtest/gtest.h>

namespace plumb::nccl {
namespace {

TEST(Communicator, LaunchesOfAGroupCallAreTakenInTheirOrder) {
  static Communicator communicator;
  communicator.addLaunch(7, 100);
  communicator.addLaunch(8, 200);
  communicator.addLaunch(7, 101);
  EXPECT_EQ(communicator.takeLaunch(7), 100u);
  EXPECT_EQ(communicator.takeLaunch(7), 101u);
  EXPECT_EQ(communicator.takeLaunch(7), 0u);
  EXPECT_EQ(communicator.takeLaunch(8), 200u);
}

TEST(Communicator, OldLaunchesAreForgotten) {
  static Communicator communicator;
  for (uint64_t i = 1; i <= 1000; ++i) {
    communicator.addLaunch(i, i);
  }
  EXPECT_EQ(communicator.takeLaunch(1), 0u);
  EXPECT_EQ(communicator.takeLaunch(1000), 1000u);
}

TEST(Communicator, WaitingDetailsComeOutByGroup) {
  static Communicator communicator;
  CollectiveDetailRecord detail{};
  detail.event_id = 1;
  ASSERT_TRUE(communicator.addWaiting(7, detail));
  detail.event_id = 2;
  ASSERT_TRUE(communicator.addWaiting(8, detail));
  CollectiveDetailRecord out{};
  ASSERT_TRUE(communicator.takeWaiting(8, false, out));
  EXPECT_EQ(out.event_id, 2u);
  EXPECT_FALSE(communicator.takeWaiting(8, false, out));
  ASSERT_TRUE(communicator.takeWaiting(0, true, out));
  EXPECT_EQ(out.event_id, 1u);
}

TEST(Communicator, ThereIsRoomForSixtyFourWaitingDetails) {
  static Communicator communicator;
  int kept = 0;
  for (int i = 0; i < 100; ++i) {
    kept += communicator.addWaiting(1, CollectiveDetailRecord{});
  }
  EXPECT_EQ(kept, 64);
}

TEST(Communicators, ContextsAreNumbersNotPointers) {
  for (const uint32_t index : {1u, 2u, Communicators::kCapacity}) {
    EXPECT_EQ(Communicators::fromContext(Communicators::toContext(index)), index);
    EXPECT_NE(Communicators::toContext(index), nullptr);
  }
  int local = 0;
  EXPECT_EQ(Communicators::fromContext(&local), 0u);
  EXPECT_EQ(Communicators::fromContext(nullptr), 0u);
}

TEST(Communicators, MoreThanThereIsRoomForShare) {
  static Communicators communicators;
  for (uint32_t i = 0; i < 2 * Communicators::kCapacity; ++i) {
    const uint32_t index = communicators.open(i);
    EXPECT_GE(index, 1u);
    EXPECT_LE(index, Communicators::kCapacity);
  }
}

}  // namespace
}  // namespace plumb::nccl
