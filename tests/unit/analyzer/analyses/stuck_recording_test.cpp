// SPDX-License-Identifier: Apache-2.0
// What a run hangs in, by its recording.
#include "analyzer/analyses/stuck_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;

class StuckRecording : public testing::Test {
 protected:
  struct Rank {
    OneRank rank;
    int64_t communicator;
  };
  // Ranks of a communicator, of which the first `recorded` are in the file.
  void addRanks(int64_t count, int64_t recorded) {
    for (int64_t i = 0; i < recorded; ++i) {
      const OneRank rank(m_builder, i, count);
      m_ranks.push_back({rank, m_builder.addCommunicator(rank.process, 5, count, i, "world")});
    }
  }
  // One rank's part; kernelNs none: its kernel never ended.
  void call(size_t index, int64_t sequence, int64_t startNs, std::optional<int64_t> kernelNs,
            const char* operation = "AllReduce") {
    const auto& [rank, communicator] = m_ranks[index];
    const int64_t correlation = m_builder.newCorrelation();
    m_builder.addCollective({.process = rank.process,
                             .thread = rank.thread,
                             .communicator = communicator,
                             .startNs = startNs,
                             .operation = operation,
                             .sequence = sequence,
                             .elementCount = 64,
                             .bytes = 256,
                             .externalId = correlation});
    m_builder.addLink(rank.process, correlation, correlation);
    if (kernelNs) m_builder.addKernel(rank.otherWork(startNs, *kernelNs, correlation), "ncclDevKernel");
  }
  void range(size_t index, int64_t startNs, std::optional<int64_t> durationNs, const char* name) {
    m_builder.addRange(m_ranks[index].rank.process, m_ranks[index].rank.thread, startNs, durationNs, name);
  }
  void endOf(size_t index, int64_t ns, const char* how) {
    m_builder.execute("UPDATE process SET end_ns = " + std::to_string(ns) + ", ended = '" + how +
                      "' WHERE id = " + std::to_string(m_ranks[index].rank.process));
  }
  std::vector<StuckCollective> find() {
    m_builder.finish();
    Trace trace = valueOf(Trace::open(m_file.path()));
    const StuckAnalysis analysis = valueOf(analyzeStuckCollectives(trace));
    EXPECT_FALSE(analysis.hasStates);
    return analysis.collectives;
  }

  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  std::vector<Rank> m_ranks;
};

TEST_F(StuckRecording, NamesWhoNeverCalledHowLongTheOthersWaitedAndWhatItDid) {
  addRanks(3, 3);
  for (size_t i = 0; i < 3; ++i) call(i, 0, kMs, kMs);
  range(0, 10 * kMs, 500 * kMs, "gradients");
  for (size_t i = 0; i < 2; ++i) call(i, 1, 20 * kMs, 400 * kMs);
  range(2, 15 * kMs, 600 * kMs, "writing a checkpoint");
  const auto found = find();
  ASSERT_EQ(found.size(), 1u);
  const StuckCollective& stuck = found[0];
  EXPECT_EQ(stuck.kind, StuckKind::NeverCalled);
  EXPECT_EQ(stuck.group, "world");
  EXPECT_EQ(stuck.operation, "AllReduce");
  EXPECT_EQ(stuck.sequence, 1);
  EXPECT_EQ(stuck.sizes, "64");
  EXPECT_THAT(stuck.missing, ElementsAre(2));
  EXPECT_THAT(stuck.waiting, ElementsAre(0, 1));
  EXPECT_EQ(stuck.waited, Duration(400 * kMs));
  EXPECT_EQ(stuck.place, "range 'gradients'");
  ASSERT_EQ(stuck.members.size(), 3u);
  EXPECT_EQ(stuck.members[2].doing, "it was in range 'writing a checkpoint' for 400.0 ms");
  EXPECT_THAT(stuck.reason, HasSubstr("ranks 0 1 called it and waited 400.0 ms for rank 2, which never called it"));
}

TEST_F(StuckRecording, WhereNoKernelEndedTheRecordingsEndIsTheWaitsEnd) {
  addRanks(2, 2);
  for (size_t i = 0; i < 2; ++i) call(i, 0, kMs, kMs);
  call(0, 1, 100 * kMs, std::nullopt);
  endOf(0, 900 * kMs, "lost");
  endOf(1, 900 * kMs, "lost");
  range(1, 50 * kMs, std::nullopt, "stuck");  // still open
  const auto found = find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].waited, Duration(800 * kMs));
  EXPECT_THAT(found[0].reason, HasSubstr("range 'stuck' for 800.0 ms"));
}

TEST_F(StuckRecording, ARankWhoseRecordingHadEndedIsMissing) {
  addRanks(2, 2);
  for (size_t i = 0; i < 2; ++i) call(i, 0, kMs, kMs);
  endOf(1, 10 * kMs, "lost");
  call(0, 1, 30 * kMs, std::nullopt);
  endOf(0, 40 * kMs, "lost");
  const auto found = find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].missing, ElementsAre(1));
  EXPECT_EQ(found[0].members[1].doing, "its recording had ended without a goodbye 20.0 ms before");
}

TEST_F(StuckRecording, WhatIsInFlightWhenTheRecordingEndsIsNoHang) {
  addRanks(2, 2);
  for (size_t i = 0; i < 2; ++i) call(i, 0, kMs, kMs);
  call(0, 1, 100 * kMs, std::nullopt);
  for (size_t i = 0; i < 2; ++i) endOf(i, 110 * kMs, "lost");
  EXPECT_TRUE(find().empty());
}

TEST_F(StuckRecording, ALostRecordIsNoHang) {
  addRanks(2, 2);
  call(0, 0, kMs, 500 * kMs);
  for (size_t i = 0; i < 2; ++i) call(i, 1, 600 * kMs, kMs);
  EXPECT_TRUE(find().empty());
}

TEST_F(StuckRecording, RanksThatAreNotInTheFileAreNotMissing) {
  addRanks(4, 1);
  call(0, 0, kMs, 500 * kMs);
  EXPECT_TRUE(find().empty());
}

TEST_F(StuckRecording, AMissingRankThatWaitsElsewhereIsNotTheFirstToBlame) {
  addRanks(3, 3);
  for (size_t i = 0; i < 3; ++i) call(i, 0, kMs, kMs);
  // Ranks 1 and 2 have a communicator of their own, in which rank 1 waits for rank 2.
  const int64_t world = m_ranks[1].communicator;
  for (size_t i = 1; i < 3; ++i)
    m_ranks[i].communicator = m_builder.addCommunicator(m_ranks[i].rank.process, 9, 2, static_cast<int64_t>(i) - 1);
  call(1, 0, 10 * kMs, std::nullopt, "Broadcast");
  m_ranks[1].communicator = world;
  call(0, 1, 5 * kMs, std::nullopt);
  range(2, 10 * kMs, 900 * kMs, "stuck");
  const auto found = find();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].operation, "Broadcast");
  EXPECT_THAT(found[0].missing, ElementsAre(2));
  EXPECT_EQ(found[1].operation, "AllReduce");
  EXPECT_THAT(found[1].reason, HasSubstr("rank 1: it waited for rank 2 in Broadcast 0 of 0x9"));
}

}  // namespace
}  // namespace plumb::test
