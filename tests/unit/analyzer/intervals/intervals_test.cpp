// SPDX-License-Identifier: Apache-2.0
#include "analyzer/intervals/intervals.h"

#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <random>
#include <type_traits>

namespace plumb {
namespace {

Interval span(int64_t start, int64_t end) { return {TimePoint(start), TimePoint(end)}; }
IntervalSet setOf(std::vector<Interval> intervals) { return IntervalSet::unionOf(std::move(intervals)); }

template <class A, class B>
constexpr bool kAddable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
constexpr bool kComparable = requires(A a, B b) {
  a < b;
};

TEST(Time, WrongArithmeticDoesNotCompile) {
  static_assert(kAddable<TimePoint, Duration>);
  static_assert(kAddable<Duration, Duration>);
  static_assert(!kAddable<TimePoint, TimePoint>);
  static_assert(!kAddable<TimePoint, int64_t>);
  static_assert(!kComparable<TimePoint, Duration>);
  static_assert(!std::is_convertible_v<int64_t, TimePoint>);
}

TEST(Time, DamagedTimesAreNotUsable) {
  EXPECT_TRUE(isUsableTime(-5, 0));
  EXPECT_FALSE(isUsableTime(0, -1));
  EXPECT_FALSE(isUsableTime(INT64_MAX, 1));
  EXPECT_FALSE(isUsableTime(INT64_MIN, 1));
  EXPECT_FALSE(isUsableTime(0, INT64_MAX));
}

TEST(IntervalSet, UnionMergesOverlapsAndNeighboursAndDropsEmptyOnes) {
  const IntervalSet set = setOf({span(10, 20), span(0, 5), span(5, 7), span(15, 30), span(40, 40)});
  EXPECT_EQ(set.parts(), (std::vector<Interval>{span(0, 7), span(10, 30)}));
  EXPECT_EQ(set.length(), Duration(27));
  EXPECT_EQ(set.hull(), span(0, 30));
}

TEST(IntervalSet, NothingHasNoLength) {
  EXPECT_EQ(setOf({}).length(), Duration());
  EXPECT_TRUE(setOf({span(3, 3)}).empty());
  EXPECT_EQ(setOf({}).gaps(span(2, 5)), setOf({span(2, 5)}));
}

TEST(IntervalSet, OneHoleMayCutTwoParts) {
  EXPECT_EQ(subtract(setOf({span(0, 10), span(12, 20)}), setOf({span(5, 15)})), setOf({span(0, 5), span(15, 20)}));
}

TEST(IntervalSet, SeveralHolesInOnePart) {
  EXPECT_EQ(subtract(setOf({span(0, 10)}), setOf({span(-5, 1), span(2, 3), span(9, 12)})),
            setOf({span(1, 2), span(3, 9)}));
}

TEST(Clip, OutsideTheWindowNothingIsLeft) {
  EXPECT_TRUE(clip(span(0, 5), span(10, 20)).empty());
  EXPECT_TRUE(clip(span(25, 30), span(10, 20)).empty());
  EXPECT_EQ(clip(span(5, 15), span(10, 20)), span(10, 15));
}

TEST(DepthOverTime, TouchingIntervalsDoNotOverlap) {
  EXPECT_EQ(depthOverTime({span(0, 5), span(5, 9)}), (std::vector<DepthStep>{{TimePoint(0), 1}, {TimePoint(9), 0}}));
  EXPECT_EQ(depthOverTime({span(0, 5), span(3, 9), span(4, 4)}),
            (std::vector<DepthStep>{{TimePoint(0), 1}, {TimePoint(3), 2}, {TimePoint(5), 1}, {TimePoint(9), 0}}));
}

// Every operation against the same one on single nanoseconds.
class AgainstBruteForce : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr int64_t kLength = 64;
  using Bits = std::bitset<kLength>;

  AgainstBruteForce() : m_random(GetParam()) {}
  int64_t number(int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(m_random); }
  std::vector<Interval> intervals() {
    std::vector<Interval> result;
    for (int64_t i = number(12); i > 0; --i) {
      const int64_t start = number(kLength), length = number(10);
      result.push_back(span(start, std::min(start + length, kLength)));
    }
    return result;
  }
  static Bits bitsOf(const std::vector<Interval>& intervals) {
    Bits bits;
    for (const Interval& interval : intervals) {
      for (int64_t t = interval.start.ns(); t < interval.end.ns(); ++t) bits.set(static_cast<size_t>(t));
    }
    return bits;
  }
  static void expectSame(const IntervalSet& set, const Bits& bits) {
    EXPECT_EQ(bitsOf(set.parts()), bits);
    EXPECT_EQ(set.length(), Duration(static_cast<int64_t>(bits.count())));
    for (size_t i = 0; i < set.parts().size(); ++i) {
      EXPECT_FALSE(set.parts()[i].empty());
      if (i > 0) {
        EXPECT_LT(set.parts()[i - 1].end, set.parts()[i].start);
      }
    }
  }
  std::mt19937 m_random;
};

TEST_P(AgainstBruteForce, AllOperationsAgree) {
  for (int round = 0; round < 200; ++round) {
    const auto first = intervals(), second = intervals();
    const Bits a = bitsOf(first), b = bitsOf(second);
    const IntervalSet left = setOf(first), right = setOf(second);
    const int64_t windowStart = number(kLength), windowEnd = windowStart + number(kLength - windowStart + 1);
    const Bits window = bitsOf({span(windowStart, windowEnd)});
    expectSame(left, a);
    expectSame(unite(left, right), a | b);
    expectSame(intersect(left, right), a & b);
    expectSame(subtract(left, right), a & ~b);
    expectSame(left.clipped(span(windowStart, windowEnd)), a & window);
    expectSame(left.gaps(span(windowStart, windowEnd)), ~a & window);
    EXPECT_EQ(left.lengthWithin(span(windowStart, windowEnd)).ns(), static_cast<int64_t>((a & window).count()));

    std::array<int, kLength + 1> depths{};
    for (const Interval& interval : first) {
      for (int64_t t = interval.start.ns(); t < interval.end.ns(); ++t) ++depths[static_cast<size_t>(t)];
    }
    const auto steps = depthOverTime(first);
    size_t step = 0;
    int depth = 0;
    for (int64_t t = 0; t <= kLength; ++t) {
      if (step < steps.size() && steps[step].time.ns() == t) depth = steps[step++].depth;
      EXPECT_EQ(depth, depths[static_cast<size_t>(t)]) << "at " << t;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, AgainstBruteForce, testing::Range(0u, 10u));

}  // namespace
}  // namespace plumb
