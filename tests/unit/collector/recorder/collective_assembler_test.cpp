// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/collective_assembler.h"

#include <gtest/gtest.h>

#include "collector/schema/collective_names.h"

namespace plumb::recorder {
namespace {

CollectiveRecord callOf(uint64_t event, int64_t startNs = 0) {
  CollectiveRecord record{};
  record.event_id = event;
  record.start_ns = startNs;
  return record;
}

CollectiveDetailRecord detailOf(uint64_t event) {
  CollectiveDetailRecord record{};
  record.event_id = event;
  record.sequence = 3;
  return record;
}

TEST(CollectiveAssembler, JoinsTheHalvesInEitherOrder) {
  CollectiveAssembler collectives;
  EXPECT_FALSE(collectives.add(callOf(1)));
  EXPECT_FALSE(collectives.add(detailOf(2)));
  const auto first = collectives.add(detailOf(1));
  const auto second = collectives.add(callOf(2));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->call.event_id, 1u);
  EXPECT_TRUE(first->detail && second->detail);
  EXPECT_TRUE(collectives.finish().empty());
}

TEST(CollectiveAssembler, FinishGivesTheCallsWithoutDetailByTime) {
  CollectiveAssembler collectives;
  EXPECT_FALSE(collectives.add(callOf(1, 20)));
  EXPECT_FALSE(collectives.add(callOf(2, 10)));
  EXPECT_FALSE(collectives.add(detailOf(9)));
  const auto waiting = collectives.finish();
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_EQ(waiting[0].call.event_id, 2u);
  EXPECT_FALSE(waiting[0].detail);
  EXPECT_EQ(collectives.orphanedDetails(), 1u);
}

TEST(CollectiveAssembler, AnIdThatIsUsedTwiceLosesNoCall) {
  CollectiveAssembler collectives;
  EXPECT_FALSE(collectives.add(callOf(1)));
  EXPECT_TRUE(collectives.add(callOf(1)));
  EXPECT_EQ(collectives.finish().size(), 1u);
}

TEST(DatatypeBytes, AreKnownForNcclsTypes) {
  EXPECT_EQ(datatypeBytes("ncclBfloat16"), 2u);
  EXPECT_EQ(datatypeBytes("ncclFloat32"), 4u);
  EXPECT_EQ(datatypeBytes("ncclInt8"), 1u);
  EXPECT_EQ(datatypeBytes("ncclDouble"), 8u);
  EXPECT_EQ(datatypeBytes("ncclFloat8e4m3"), 1u);
  EXPECT_EQ(datatypeBytes("ncclFloat4"), 0u);
}

TEST(CountsAllRanks, FollowsNcclsConvention) {
  EXPECT_TRUE(countsAllRanks("AllGather"));
  EXPECT_TRUE(countsAllRanks("ReduceScatter"));
  EXPECT_FALSE(countsAllRanks("AllReduce"));
  EXPECT_FALSE(countsAllRanks("Broadcast"));
  EXPECT_FALSE(countsAllRanks("Send"));
}

}  // namespace
}  // namespace plumb::recorder
