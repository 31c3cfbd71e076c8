// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/unknown_clocks.h"

#include <gtest/gtest.h>

namespace plumb::test {
namespace {

constexpr int64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;
using Stays = std::vector<std::vector<CollectiveStay>>;

// A collective of 100 us per millisecond, on a clock that is this far off.
std::vector<CollectiveStay> onClock(int64_t offsetNs, size_t first = 0, size_t count = 20) {
  std::vector<CollectiveStay> stays;
  for (size_t i = first; i < first + count; ++i) {
    const int64_t start = static_cast<int64_t>(i) * kMillisecond + offsetNs;
    stays.push_back({i, start, start + 100 * kMicrosecond});
  }
  return stays;
}

TEST(UnknownClocks, RanksOfTwoNodesAreToldApart) {
  const auto clocks = clocksByCausality(
      {onClock(0), onClock(3 * kMicrosecond), onClock(5 * kMillisecond), onClock(5 * kMillisecond - 3 * kMicrosecond)});
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_EQ(clocks[0].processes, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(clocks[1].processes, (std::vector<size_t>{2, 3}));
  EXPECT_EQ(clocks[0].agreement, Duration(103 * kMicrosecond));
}

TEST(UnknownClocks, SomeMicrosecondsAreNoOtherClock) {
  EXPECT_EQ(clocksByCausality({onClock(0), onClock(115 * kMicrosecond)}).size(), 1u);
  EXPECT_EQ(clocksByCausality({onClock(0), onClock(125 * kMicrosecond)}).size(), 2u);
}

TEST(UnknownClocks, OneCollectiveThatWasMatchedWronglyPartsNobody) {
  std::vector<CollectiveStay> other = onClock(0);
  other[7].startNs += kMillisecond;
  other[7].endNs += kMillisecond;
  const auto clocks = clocksByCausality({onClock(0), other});
  ASSERT_EQ(clocks.size(), 1u);
  EXPECT_EQ(clocks[0].impossibleCount, 1);
}

TEST(UnknownClocks, RanksAreComparedThroughARankBetweenThem) {
  std::vector<CollectiveStay> between = onClock(0);
  const auto more = onClock(0, 20);
  between.insert(between.end(), more.begin(), more.end());
  const auto clocks = clocksByCausality({onClock(0), onClock(0, 20), between});
  ASSERT_EQ(clocks.size(), 1u);
  EXPECT_EQ(clocks[0].uncheckedCount, 0);
}

TEST(UnknownClocks, PairsThatShareNothingAreEachChecked) {
  const auto clocks = clocksByCausality({onClock(0), onClock(0), onClock(0, 20), onClock(5 * kMillisecond, 20)});
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_EQ(clocks[0].processes, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(clocks[0].uncheckedCount, 1);
  EXPECT_EQ(clocks[1].processes, (std::vector<size_t>{3}));
}

TEST(UnknownClocks, WithoutCollectivesNothingIsSaid) {
  const auto clocks = clocksByCausality(Stays(3));
  ASSERT_EQ(clocks.size(), 1u);
  EXPECT_EQ(clocks[0].agreement, std::nullopt);
  EXPECT_EQ(clocks[0].uncheckedCount, 2);
  EXPECT_TRUE(clocksByCausality({}).empty());
}

}  // namespace
}  // namespace plumb::test
