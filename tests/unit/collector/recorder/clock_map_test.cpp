// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clock_map.h"

#include <gtest/gtest.h>

#include <limits>

namespace plumb::recorder {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// The session began at 100 s of the monotonic clock and 1000 s of the wall clock.
ClockMap makeMap() { return {100 * kSecond, 1000 * kSecond}; }

TEST(ClockMap, TheMonotonicClockIsOnlyShifted) {
  const ClockMap map = makeMap();
  EXPECT_TRUE(map.covers(Clock::kMonotonicRaw, 1));
  EXPECT_EQ(map.toSession(Clock::kMonotonicRaw, 101 * kSecond), kSecond);
}

TEST(ClockMap, BetweenTwoPairsTimesAreInterpolated) {
  ClockMap map = makeMap();
  map.addPair(100 * kSecond, 1000 * kSecond);
  map.addPair(110 * kSecond, 1010 * kSecond + 10'000);  // 1 ppm fast
  EXPECT_EQ(map.toSession(Clock::kCupti, 1005 * kSecond + 5'000), 5 * kSecond);
}

TEST(ClockMap, OutsideOfThePairsTheClocksRunAtTheSameSpeed) {
  ClockMap map = makeMap();
  map.addPair(101 * kSecond, 2000 * kSecond);
  map.addPair(102 * kSecond, 2001 * kSecond + 1000);
  EXPECT_EQ(map.toSession(Clock::kCupti, 1999 * kSecond), 0);
  EXPECT_EQ(map.toSession(Clock::kCupti, 2002 * kSecond + 1000), 3 * kSecond);
  EXPECT_TRUE(map.covers(Clock::kCupti, 2001 * kSecond));
  EXPECT_FALSE(map.covers(Clock::kCupti, 2002 * kSecond));
}

TEST(ClockMap, TheMapNeverDecreases) {
  ClockMap map = makeMap();
  int64_t cupti = 1000 * kSecond;
  for (int i = 0; i < 50; ++i) {
    cupti += kSecond / 10 + (i % 7 - 3) * 1000;  // a clock that wobbles
    map.addPair(100 * kSecond + i * kSecond / 10, cupti);
  }
  int64_t last = std::numeric_limits<int64_t>::min();
  for (int64_t t = 999 * kSecond; t < 1007 * kSecond; t += 777'777) {
    const int64_t now = map.toSession(Clock::kCupti, t);
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(ClockMap, AJumpOfTheClockStartsANewMap) {
  ClockMap map = makeMap();
  EXPECT_EQ(map.addPair(101 * kSecond, 2000 * kSecond), ClockMap::Added::kYes);
  EXPECT_EQ(map.addPair(102 * kSecond, 1500 * kSecond), ClockMap::Added::kJump);
  EXPECT_EQ(map.toSession(Clock::kCupti, 1500 * kSecond), 2 * kSecond);
  EXPECT_EQ(map.addPair(101 * kSecond, 1499 * kSecond), ClockMap::Added::kIgnored);
  EXPECT_EQ(map.addPair(103 * kSecond, 0), ClockMap::Added::kIgnored);
}

TEST(ClockMap, WithoutPairsCuptisClockIsTheWallClock) {
  EXPECT_EQ(makeMap().toSession(Clock::kCupti, 1001 * kSecond), kSecond);
}

TEST(ClockMap, AbsurdTimesSaturate) {
  ClockMap map = makeMap();
  map.addPair(101 * kSecond, 2000 * kSecond);
  EXPECT_EQ(map.toSession(Clock::kMonotonicRaw, std::numeric_limits<int64_t>::min()),
            std::numeric_limits<int64_t>::min());
  EXPECT_GT(map.toSession(Clock::kCupti, std::numeric_limits<int64_t>::max()), 0);
}

}  // namespace
}  // namespace plumb::recorder
