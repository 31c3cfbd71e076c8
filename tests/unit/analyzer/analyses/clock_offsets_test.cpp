// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/clock_offsets.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

TEST(ClockOffsets, TheTightestBoundsLimitTheError) {
  ClockOffset clock;
  combineObservations({{1000, 900, 1100}, {1010, 960, 1200}, {990, 800, 1040}}, clock);
  EXPECT_EQ(clock.offset, Duration(1000));
  EXPECT_EQ(clock.error, Duration(40));  // 960 … 1040
  EXPECT_TRUE(clock.isBound);
  EXPECT_EQ(clock.instanceCount, 3);
}

TEST(ClockOffsets, ADriftingClockHasNoBoundButASpread) {
  ClockOffset clock;
  std::vector<OffsetObservation> observations;
  for (int64_t i = 0; i <= 100; ++i) observations.push_back({i * 10, i * 10 - 5, i * 10 + 5});
  combineObservations(observations, clock);
  EXPECT_FALSE(clock.isBound);
  EXPECT_EQ(clock.offset, Duration(500));
  EXPECT_EQ(clock.error, Duration(450));
}

// Two hosts whose clocks are apart; what happens is made in true time and written in each host's.
class TwoHosts : public testing::Test {
 protected:
  struct Rank {
    int64_t process, thread, device, stream, communicator;
    int64_t offset;
  };
  void addRank(int64_t number, const std::string& host, int64_t offset) {
    Rank rank{};
    rank.process = m_builder.addProcess({.rank = number, .worldSize = 2, .host = host});
    rank.thread = m_builder.addThread(rank.process);
    rank.device = m_builder.addDevice(rank.process);
    rank.stream = m_builder.addStream(rank.process, rank.device, 7);
    rank.communicator = m_builder.addCommunicator(rank.process, 3, 2, number);
    rank.offset = offset;
    m_ranks.push_back(rank);
  }
  void collective(size_t index, int64_t sequence, int64_t trueStart, int64_t trueEnd,
                  const std::string& operation = "AllReduce") {
    const Rank& rank = m_ranks[index];
    const int64_t correlation = m_builder.newCorrelation();
    m_builder.addCollective({.process = rank.process,
                             .thread = rank.thread,
                             .communicator = rank.communicator,
                             .startNs = trueStart + rank.offset,
                             .operation = operation,
                             .sequence = sequence,
                             .externalId = sequence + 1});
    m_builder.addLink(rank.process, sequence + 1, correlation);
    m_builder.addKernel(
        {rank.process, rank.device, rank.stream, trueStart + rank.offset, trueEnd - trueStart, correlation},
        "ncclDevKernel");
  }
  CollectiveAnalysis analyze() {
    m_builder.finish();
    Trace trace = valueOf(Trace::open(m_file.path()));
    return valueOf(analyzeCollectives(trace));
  }
  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  std::vector<Rank> m_ranks;
};

TEST_F(TwoHosts, TheTrueOffsetIsWithinTheErrorAndIsTakenOff) {
  constexpr int64_t kOffset = 123'456'789;
  std::mt19937 random(5);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  addRank(0, "a", 0);
  addRank(1, "b", kOffset);
  std::vector<int64_t> skews;
  for (int64_t i = 0; i < 50; ++i) {
    const int64_t base = 1'000'000 * i;
    const int64_t arrivals[] = {base + number(200'000), base + number(200'000)};
    const int64_t last = std::max(arrivals[0], arrivals[1]);
    for (size_t rank = 0; rank < 2; ++rank) collective(rank, i, arrivals[rank], last + 5'000 + number(3'000));
    skews.push_back(last - std::min(arrivals[0], arrivals[1]));
  }
  const CollectiveAnalysis analysis = analyze();
  ASSERT_EQ(analysis.clocks.size(), 2u);
  EXPECT_EQ(analysis.clocks[0].offset, Duration(0));
  EXPECT_EQ(analysis.clocks[0].error, Duration(0));
  const ClockOffset& other = analysis.clocks[1];
  EXPECT_TRUE(other.isBound);
  EXPECT_EQ(other.instanceCount, 50);
  const int64_t miss = std::abs(other.offset->ns() - kOffset);
  EXPECT_LE(miss, other.error->ns());
  EXPECT_LE(other.error->ns(), 16'000);
  for (size_t i = 0; i < analysis.instances.size(); ++i) {
    ASSERT_TRUE(analysis.instances[i].skew);
    EXPECT_LE(std::abs(analysis.instances[i].skew->ns() - skews[static_cast<size_t>(analysis.instances[i].sequence)]),
              miss);
  }
}

TEST_F(TwoHosts, ABroadcastSaysNothingOfTheClocks) {
  addRank(0, "a", 0);
  addRank(1, "b", 500);
  collective(0, 0, 100, 200, "Broadcast");
  collective(1, 0, 100, 300, "Broadcast");
  const CollectiveAnalysis analysis = analyze();
  EXPECT_EQ(analysis.clocks.at(1).offset, std::nullopt);
  EXPECT_EQ(analysis.instances.at(0).skew, std::nullopt);
  EXPECT_EQ(analysis.instances.at(0).problem(), "cannot say: the clocks of its hosts cannot be compared");
}

TEST_F(TwoHosts, OnOneHostTheOffsetIsZero) {
  addRank(0, "a", 0);
  addRank(1, "a", 0);
  collective(0, 0, 100, 200);
  collective(1, 0, 150, 210);
  const CollectiveAnalysis analysis = analyze();
  ASSERT_EQ(analysis.clocks.size(), 1u);
  EXPECT_EQ(analysis.clocks[0].offset, Duration(0));
  EXPECT_EQ(analysis.clocks[0].processes.size(), 2u);
  EXPECT_EQ(analysis.instances.at(0).skew, Duration(50));
}

constexpr int64_t kMillisecond = 1'000'000, kMicrosecond = 1'000;

// Rank 1 arrives 80 us after rank 0 and both leave 100 us later: what happened on two nodes 5 ms apart, whose names the
// trace does not hold.
TEST_F(TwoHosts, UnknownHostsAreApartWhereACollectiveEndsBeforeAnotherRankArrives) {
  addRank(0, "", 0);
  addRank(1, "", 5 * kMillisecond);
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t base = i * kMillisecond;
    collective(0, i, base, base + 180 * kMicrosecond);
    collective(1, i, base + 80 * kMicrosecond, base + 180 * kMicrosecond);
  }
  const CollectiveAnalysis analysis = analyze();
  ASSERT_EQ(analysis.clocks.size(), 2u);
  EXPECT_EQ(analysis.clocks[0].host, "not known (rank 0)");
  EXPECT_EQ(analysis.clocks[1].host, "not known (rank 1)");
  EXPECT_FALSE(analysis.clocks[1].isHostKnown);
  EXPECT_EQ(analysis.clocks[1].offset, Duration(5 * kMillisecond));
  EXPECT_EQ(analysis.clocks[1].error, Duration(180 * kMicrosecond));
  for (const CollectiveInstance& instance : analysis.instances) {
    EXPECT_EQ(instance.skew, Duration(80 * kMicrosecond));
    EXPECT_EQ(instance.transfer, Duration(100 * kMicrosecond));
  }
}

TEST_F(TwoHosts, UnknownHostsAreOneClockWhereCollectivesAllowItWithinTheirBound) {
  addRank(0, "", 0);
  addRank(1, "", 0);
  collective(0, 0, 0, 180 * kMicrosecond);
  collective(1, 0, 80 * kMicrosecond, 181 * kMicrosecond);
  const CollectiveAnalysis analysis = analyze();
  ASSERT_EQ(analysis.clocks.size(), 1u);
  EXPECT_EQ(analysis.clocks[0].host, "");
  EXPECT_EQ(analysis.clocks[0].agreement, Duration(181 * kMicrosecond));  // -100 … 181 us
  EXPECT_EQ(analysis.clocks[0].uncheckedCount, 0);
  EXPECT_EQ(analysis.instances.at(0).skew, Duration(80 * kMicrosecond));
}

TEST_F(TwoHosts, OfUnknownHostsWithoutACommonCollectiveNobodyCanSayWhetherTheirClocksAgree) {
  addRank(0, "", 0);
  addRank(1, "", 5 * kMillisecond);
  collective(0, 0, 100, 200, "Broadcast");
  collective(1, 0, 100, 300, "Broadcast");
  const CollectiveAnalysis analysis = analyze();
  ASSERT_EQ(analysis.clocks.size(), 1u);
  EXPECT_EQ(analysis.clocks[0].agreement, std::nullopt);
  EXPECT_EQ(analysis.clocks[0].uncheckedCount, 1);
}

TEST_F(TwoHosts, AKnownHostIsBelievedWhateverItsCollectivesSay) {
  addRank(0, "a", 0);
  addRank(1, "a", 5 * kMillisecond);
  collective(0, 0, 100, 200);
  collective(1, 0, 100, 200);
  EXPECT_EQ(analyze().clocks.size(), 1u);
}

}  // namespace
}  // namespace plumb::test
