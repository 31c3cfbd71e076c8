// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/collectives.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(BusFactor, IsNcclTests) {
  EXPECT_DOUBLE_EQ(busFactorOf("AllReduce", 4).factor, 1.5);
  EXPECT_DOUBLE_EQ(busFactorOf("AllGather", 4).factor, 0.75);
  EXPECT_DOUBLE_EQ(busFactorOf("ReduceScatter", 2).factor, 0.5);
  EXPECT_DOUBLE_EQ(busFactorOf("Gather", 4).factor, 0.75);
  EXPECT_DOUBLE_EQ(busFactorOf("Scatter", 4).factor, 0.75);
  EXPECT_DOUBLE_EQ(busFactorOf("Broadcast", 4).factor, 1);
  EXPECT_DOUBLE_EQ(busFactorOf("Send", 2).factor, 1);
  EXPECT_DOUBLE_EQ(busFactorOf("AllReduce", 0).factor, 0);
  EXPECT_STREQ(busFactorOf("AllReduce", 2).formula, "2(n-1)/n");
}

class Collectives : public testing::Test {
 protected:
  // One rank's part of a collective; a negative duration: without a kernel.
  void add(const OneRank& rank, int64_t communicator, int64_t sequence, int64_t startNs, int64_t durationNs,
           int64_t externalId) {
    m_builder.addCollective({.process = rank.process,
                             .thread = rank.thread,
                             .communicator = communicator,
                             .startNs = startNs - 20,
                             .operation = "AllReduce",
                             .sequence = sequence,
                             .bytes = 1000,
                             .externalId = externalId});
    if (durationNs < 0) return;
    const int64_t correlation = m_builder.newCorrelation();
    m_builder.addLink(rank.process, externalId, correlation);
    m_builder.addKernel(rank.otherWork(startNs, durationNs, correlation), "ncclDevKernel_AllReduce");
  }
  CollectiveAnalysis analyze() {
    m_builder.finish();
    m_trace.emplace(valueOf(Trace::open(m_file.path())));
    return valueOf(analyzeCollectives(*m_trace));
  }
  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  std::optional<Trace> m_trace;
};

TEST_F(Collectives, ArrivalWaitTransferAndSkew) {
  const OneRank first(m_builder, 0, 2), second(m_builder, 1, 2);
  const int64_t a = m_builder.addCommunicator(first.process, 77, 2, 0, "world"),
                b = m_builder.addCommunicator(second.process, 77, 2, 1);
  add(first, a, 0, 100, 500, 1);
  add(second, b, 1, 900, 105, 2);  // the second's records are in another order
  add(second, b, 0, 300, 310, 1);
  add(first, a, 1, 905, 100, 2);
  const CollectiveAnalysis analysis = analyze();
  ASSERT_EQ(analysis.instances.size(), 2u);
  const CollectiveInstance& instance = analysis.instances[0];
  EXPECT_EQ(instance.sequence, 0);
  EXPECT_EQ(*instance.skew, Duration(200));
  EXPECT_EQ(*instance.transfer, Duration(310));
  EXPECT_EQ(instance.members[0].wait, Duration(200));
  EXPECT_EQ(instance.members[1].wait, Duration(0));
  EXPECT_EQ(instance.members[instance.lastArrival].rank, 1);
  ASSERT_EQ(analysis.groups.size(), 1u);
  const CollectiveGroup& group = analysis.groups[0];
  EXPECT_EQ(group.communicatorName, "world");
  EXPECT_EQ(group.count, 4);
  EXPECT_EQ(group.completeCount, 2);
  EXPECT_EQ(group.kernelTime, Duration(500 + 105 + 310 + 100));
  EXPECT_EQ(group.kernelMedian, Duration((105 + 310) / 2));
  EXPECT_EQ(group.transferTime, Duration(310 + 100));
  EXPECT_EQ(group.waitTime, Duration(200 + 5));
  EXPECT_DOUBLE_EQ(*group.transferAlgbw, 2000 / 410e-9);
  EXPECT_DOUBLE_EQ(*group.transferBusbw, *group.transferAlgbw * 1.0);
  EXPECT_DOUBLE_EQ(*group.kernelAlgbw, 4000 / 1015e-9);
}

TEST_F(Collectives, AMissingRankLeavesTheInstanceIncomplete) {
  const OneRank first(m_builder, 0, 2);
  const int64_t a = m_builder.addCommunicator(first.process, 77, 2, 0);
  add(first, a, 0, 100, 500, 1);
  add(first, a, 1, 700, -1, 2);
  const CollectiveAnalysis analysis = analyze();
  EXPECT_EQ(analysis.instances.at(0).transfer, std::nullopt);
  EXPECT_EQ(analysis.groups.at(0).completeCount, 0);
  EXPECT_EQ(analysis.groups.at(0).withoutKernel, 1);
  EXPECT_EQ(analysis.groups.at(0).transferAlgbw, std::nullopt);
  EXPECT_TRUE(analysis.groups.at(0).kernelAlgbw.has_value());
}

TEST_F(Collectives, OfAGroupNoneOwnsTheKernel) {
  const OneRank first(m_builder, 0, 1);
  const int64_t a = m_builder.addCommunicator(first.process, 77, 1, 0);
  add(first, a, 0, 100, 500, 9);
  add(first, a, 1, 100, -1, 9);  // the same launch carries both
  const CollectiveAnalysis analysis = analyze();
  const CollectiveGroup& group = analysis.groups.at(0);
  EXPECT_EQ(group.sharedKernel, 2);
  EXPECT_EQ(group.kernelTime, Duration(0));
  EXPECT_EQ(group.kernelAlgbw, std::nullopt);
  EXPECT_EQ(group.transferAlgbw, std::nullopt);
}

TEST_F(Collectives, UnmatchedAndDoubleRecordsAreCounted) {
  const OneRank first(m_builder, 0, 1);
  const int64_t a = m_builder.addCommunicator(first.process, 77, 1, 0);
  add(first, a, -1, 100, 500, 1);
  add(first, a, 4, 700, 10, 2);
  add(first, a, 4, 800, 10, 3);
  const CollectiveAnalysis analysis = analyze();
  EXPECT_EQ(analysis.unmatched, 1);
  EXPECT_EQ(analysis.duplicates, 1);
  EXPECT_EQ(analysis.instances.size(), 1u);
}

TEST_F(Collectives, NoCollectives) { EXPECT_TRUE(analyze().groups.empty()); }

}  // namespace
}  // namespace plumb::test
