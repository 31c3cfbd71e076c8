// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/address_matcher.h"

#include <gtest/gtest.h>

namespace plumb::recorder {
namespace {

TEST(AddressMatcher, MatchesInTheOrderOfTimeWhateverTheOrderOfArrival) {
  AddressMatcher matcher;
  matcher.begin(10, 0x1000, 1);
  matcher.begin(30, 0x1000, 2);  // read before the free that made room for it
  matcher.end(20, 0x1000, 9);
  matcher.end(40, 0x1000, 8);
  const auto closed = matcher.advance(100);
  ASSERT_EQ(closed.size(), 2u);
  EXPECT_EQ(closed[0].id, 1);
  EXPECT_EQ(closed[0].timeNs, 20);
  EXPECT_EQ(closed[0].correlation, 9u);
  EXPECT_EQ(closed[1].id, 2);
}

TEST(AddressMatcher, WaitsForWhatMayStillCome) {
  AddressMatcher matcher;
  matcher.end(20, 0x1000, 0);
  EXPECT_TRUE(matcher.advance(15).empty());
  matcher.begin(10, 0x1000, 1);
  EXPECT_EQ(matcher.advance(25).size(), 1u);
  EXPECT_EQ(matcher.unknownEnds(), 0u);
}

TEST(AddressMatcher, AnEndTakesTheNewestOfNestedBegins) {
  AddressMatcher matcher;
  matcher.begin(10, 0x1000, 1);
  matcher.begin(11, 0x1000, 2);
  matcher.end(12, 0x1000, 0);
  const auto closed = matcher.advance(100);
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed[0].id, 2);
}

TEST(AddressMatcher, AnEndOfSomethingUnknownIsCounted) {
  AddressMatcher matcher;
  matcher.end(20, 0x1000, 0);
  EXPECT_TRUE(matcher.advance(100).empty());
  EXPECT_EQ(matcher.unknownEnds(), 1u);
}

}  // namespace
}  // namespace plumb::recorder
