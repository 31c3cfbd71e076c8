// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/range_assembler.h"

#include <gmock/gmock.h>

namespace plumb::recorder {
namespace {

constexpr StringId kDomain = 5;

RangeBeginRecord beginOf(RangeKind kind, uint32_t tid, uint64_t key = 0, StringId domain = 0) {
  RangeBeginRecord record{};
  record.header.tid = tid;
  record.kind = kind;
  record.range_id = key;
  record.domain = domain;
  return record;
}

RangeEndRecord endOf(RangeKind kind, uint32_t tid, uint64_t key = 0, StringId domain = 0) {
  RangeEndRecord record{};
  record.header.tid = tid;
  record.kind = kind;
  record.range_id = key;
  record.domain = domain;
  return record;
}

TEST(RangeAssembler, APopClosesTheInnermostRangeOfItsDomainAndThread) {
  RangeAssembler ranges;
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1), 10, 101));
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1, 0, kDomain), 20, 102));
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 2), 25, 103));
  const auto outer = ranges.end(endOf(RangeKind::kPushPop, 1), 30);  // below a range of another domain
  const auto inner = ranges.end(endOf(RangeKind::kPushPop, 1, 0, kDomain), 40);
  ASSERT_TRUE(outer && inner);
  EXPECT_EQ(outer->id, 101);
  EXPECT_EQ(outer->depth, 0);
  EXPECT_EQ(outer->endNs, 30);
  EXPECT_EQ(inner->id, 102);
  EXPECT_EQ(inner->depth, 1);
  EXPECT_EQ(inner->parentId, 101);
}

TEST(RangeAssembler, APopTooManyIsCountedAndHarmsNothing) {
  RangeAssembler ranges;
  EXPECT_FALSE(ranges.end(endOf(RangeKind::kPushPop, 1), 5));
  EXPECT_EQ(ranges.unmatchedEnds(), 1u);
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1), 10, 1));
  EXPECT_TRUE(ranges.end(endOf(RangeKind::kPushPop, 1), 20));
}

TEST(RangeAssembler, ALostEndDoesNotShiftTheRangesAroundIt) {
  RangeAssembler ranges;
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1, 1), 10, 101));  // step
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1, 2), 20, 102));  // its end is lost
  const RangeEndRecord stepEnd = endOf(RangeKind::kPushPop, 1, 1);
  const auto abandoned = ranges.abandonBefore(stepEnd);
  ASSERT_EQ(abandoned.size(), 1U);
  EXPECT_EQ(abandoned[0].id, 102);
  EXPECT_FALSE(abandoned[0].endNs);
  const auto step = ranges.end(stepEnd, 50);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->id, 101);
  EXPECT_EQ(step->endNs, 50);
  EXPECT_EQ(ranges.lostEnds(), 1U);
}

TEST(RangeAssembler, ANewRangeOfAnOldLevelTellsThatTheOldOneHasEnded) {
  RangeAssembler ranges;
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1, 1), 10, 101));  // its end is lost
  const RangeBeginRecord next = beginOf(RangeKind::kPushPop, 1, 1);
  ASSERT_EQ(ranges.abandonBefore(next).size(), 1U);
  EXPECT_FALSE(ranges.begin(next, 20, 102));
  const auto range = ranges.end(endOf(RangeKind::kPushPop, 1, 1), 30);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->id, 102);
  EXPECT_EQ(range->depth, 0);
}

TEST(RangeAssembler, AnEndWhoseBeginWasLostClosesNothing) {
  RangeAssembler ranges;
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1, 1), 10, 101));
  const RangeEndRecord inner = endOf(RangeKind::kPushPop, 1, 2);  // pushed by a record that was lost
  EXPECT_TRUE(ranges.abandonBefore(inner).empty());
  EXPECT_FALSE(ranges.end(inner, 20));
  EXPECT_EQ(ranges.lostBegins(), 1U);
  const auto outer = ranges.end(endOf(RangeKind::kPushPop, 1, 1), 30);
  ASSERT_TRUE(outer);
  EXPECT_EQ(outer->endNs, 30);
  EXPECT_EQ(ranges.unmatchedEnds(), 0U);
}

TEST(RangeAssembler, AStartEndRangeMayEndOnAnotherThread) {
  RangeAssembler ranges;
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kStartEnd, 1, 77), 10, 1));
  const auto range = ranges.end(endOf(RangeKind::kStartEnd, 2, 77), 30);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->tid, 1u);
  EXPECT_EQ(range->endTid, 2u);
  EXPECT_EQ(range->endNs, 30);
}

TEST(RangeAssembler, AnEndThatIsReadBeforeItsBeginIsKept) {
  RangeAssembler ranges;
  EXPECT_FALSE(ranges.end(endOf(RangeKind::kStartEnd, 2, 77), 30));
  const auto range = ranges.begin(beginOf(RangeKind::kStartEnd, 1, 77), 10, 1);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->endNs, 30);
  EXPECT_EQ(range->endTid, 2u);
  EXPECT_TRUE(ranges.finish().empty());
  EXPECT_EQ(ranges.unmatchedEnds(), 0u);
}

TEST(RangeAssembler, AMarkIsCompleteAtOnceAndKnowsTheRangeAroundIt) {
  RangeAssembler ranges;
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1), 10, 1));
  const auto mark = ranges.begin(beginOf(RangeKind::kMark, 1), 15, 2);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->parentId, 1);
  EXPECT_EQ(mark->endNs, 15);
  EXPECT_EQ(mark->depth, 0);
}

TEST(RangeAssembler, FinishGivesWhatIsOpenInTheOrderOfItsIds) {
  RangeAssembler ranges;
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1), 10, 1));
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kStartEnd, 1, 7), 11, 2));
  EXPECT_FALSE(ranges.begin(beginOf(RangeKind::kPushPop, 1), 12, 3));
  EXPECT_FALSE(ranges.end(endOf(RangeKind::kStartEnd, 1, 8), 13));
  const auto open = ranges.finish();
  ASSERT_EQ(open.size(), 3u);
  EXPECT_EQ(open[0].id, 1);
  EXPECT_EQ(open[2].id, 3);
  EXPECT_EQ(open[2].depth, 1);
  EXPECT_FALSE(open[0].endNs);
  EXPECT_EQ(ranges.unmatchedEnds(), 1u);
}

}  // namespace
}  // namespace plumb::recorder
