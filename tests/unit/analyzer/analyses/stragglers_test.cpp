// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stragglers.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

constexpr size_t kCompute = static_cast<size_t>(LatePhase::Compute);
constexpr size_t kPrevious = static_cast<size_t>(LatePhase::PreviousCollective);
constexpr size_t kCopies = static_cast<size_t>(LatePhase::Copies);
constexpr size_t kLoading = static_cast<size_t>(LatePhase::DataLoading);
constexpr size_t kLaunch = static_cast<size_t>(LatePhase::Launch);

// Ranks of one communicator; collectives are played on a stream of their own.
class Stragglers : public testing::Test {
 protected:
  void addRanks(int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      m_ranks.emplace_back(m_builder, i, count);
      m_communicators.push_back(m_builder.addCommunicator(m_ranks.back().process, 5, count, i));
    }
  }
  // All ranks' parts of the next collective.
  void collective(const std::vector<Interval>& times) {
    for (size_t i = 0; i < m_ranks.size(); ++i) {
      const OneRank& rank = m_ranks[i];
      const int64_t correlation = m_builder.newCorrelation();
      m_builder.addCollective({.process = rank.process,
                               .thread = rank.thread,
                               .communicator = m_communicators[i],
                               .startNs = times[i].start.ns(),
                               .sequence = m_sequence,
                               .bytes = 100,
                               .externalId = m_sequence + 1});
      m_builder.addLink(rank.process, m_sequence + 1, correlation);
      m_builder.addKernel(rank.otherWork(times[i].start.ns(), times[i].length().ns(), correlation), "ncclDevKernel");
    }
    ++m_sequence;
  }
  CollectiveAnalysis analyze(const Filter& filter = {}) {
    if (!m_trace) {
      m_builder.finish();
      m_trace.emplace(valueOf(Trace::open(m_file.path())));
    }
    return valueOf(analyzeCollectives(*m_trace, filter));
  }

  TraceFile m_file;
  TraceBuilder m_builder{m_file.path()};
  std::vector<OneRank> m_ranks;
  std::vector<int64_t> m_communicators;
  int64_t m_sequence = 0;
  std::optional<Trace> m_trace;
};

TEST_F(Stragglers, WhatTheLastRankDidLongerIsThePhase) {
  addRanks(2);
  collective({{TimePoint(100), TimePoint(200)}, {TimePoint(110), TimePoint(200)}});
  m_builder.addKernel(m_ranks[0].work(210, 100), "gemm");  // 210-310
  m_builder.addKernel(m_ranks[1].work(210, 400), "gemm");  // 210-610
  collective({{TimePoint(320), TimePoint(700)}, {TimePoint(620), TimePoint(700)}});
  m_builder.addRange(m_ranks[1].process, m_ranks[1].thread, 710, 200, "dataloader");  // 710-910
  collective({{TimePoint(730), TimePoint(1000)}, {TimePoint(930), TimePoint(1000)}});
  const CollectiveAnalysis analysis = analyze();
  const auto lateness = valueOf(explainLateness(*m_trace, analysis));
  ASSERT_EQ(lateness.size(), 3u);
  EXPECT_FALSE(lateness[0]);  // nothing to compare from
  EXPECT_EQ(lateness[1]->causedWait, Duration(300));
  EXPECT_EQ(lateness[1]->phase(), LatePhase::Compute);
  EXPECT_EQ(lateness[1]->parts[kCompute], Duration(300));
  EXPECT_EQ(lateness[1]->parts[kLaunch], Duration(0));
  EXPECT_EQ(lateness[2]->phase(), LatePhase::DataLoading);
  EXPECT_EQ(lateness[2]->parts[kLoading], Duration(200));

  const auto ranks = valueOf(findStragglers(*m_trace, analysis));
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].rank, 1);
  EXPECT_EQ(ranks[0].lastCount, 3);
  EXPECT_EQ(ranks[0].causedWait, Duration(10 + 300 + 200));
  EXPECT_EQ(ranks[0].unexplained, Duration(10));
  EXPECT_EQ(ranks[0].phase(), LatePhase::Compute);
  EXPECT_EQ(ranks[1].waited, Duration(510));
  EXPECT_EQ(ranks[1].phase(), std::nullopt);
}

TEST_F(Stragglers, ARecordingThatBeganLaterIsNoLateness) {
  addRanks(2);
  m_builder.execute("UPDATE process SET start_ns = 290 WHERE rank = 1");
  collective({{TimePoint(100), TimePoint(500)}, {TimePoint(400), TimePoint(500)}});  // 100 and 110 after the begins
  m_builder.addKernel(m_ranks[1].work(510, 40), "gemm");
  collective({{TimePoint(520), TimePoint(600)}, {TimePoint(550), TimePoint(600)}});
  const CollectiveAnalysis analysis = analyze();
  EXPECT_EQ(waitsForRecording(*m_trace, analysis), (std::vector<Duration>{Duration(290), Duration()}));
  const auto ranks = valueOf(findStragglers(*m_trace, analysis));
  EXPECT_EQ(ranks[0].rank, 1);
  EXPECT_EQ(ranks[0].causedWait, Duration(300 + 30));
  EXPECT_EQ(ranks[0].recordingLater, Duration(290));
  EXPECT_EQ(ranks[0].unexplained, Duration(10));
  EXPECT_EQ(ranks[0].phase(), LatePhase::Compute);
}

TEST_F(Stragglers, TheRangeIsWhereThePhaseWasSpent) {
  addRanks(3);
  const auto kernelIn = [&](size_t rank, int64_t startNs, int64_t durationNs, const char* range) {
    const int64_t correlation = m_builder.newCorrelation();
    m_builder.addRange(m_ranks[rank].process, m_ranks[rank].thread, startNs - 8, 6, range);
    m_builder.addApiCall(m_ranks[rank].process, m_ranks[rank].thread, startNs - 6, 2, "cudaLaunchKernel", correlation);
    m_builder.addKernel(m_ranks[rank].work(startNs, durationNs, correlation), "gemm");
  };
  const auto arrivals = [&](int64_t first, int64_t second, int64_t third) {
    const TimePoint end(std::max({first, second, third}) + 50);
    collective({{TimePoint(first), end}, {TimePoint(second), end}, {TimePoint(third), end}});
  };
  arrivals(100, 100, 100);  // until 150
  kernelIn(1, 160, 100, "attention");
  kernelIn(1, 270, 300, "mlp");
  arrivals(160, 580, 160);  // rank 1 computes; until 630
  m_builder.addRange(m_ranks[2].process, m_ranks[2].thread, 640, 200, "dataloader");
  arrivals(640, 640, 850);  // rank 2 loads; until 900
  m_builder.addRange(m_ranks[0].process, m_ranks[0].thread, 900, 390, "tokenize");
  arrivals(1300, 910, 910);  // rank 0 launches late
  const CollectiveAnalysis analysis = analyze();
  const auto ranks = valueOf(findStragglers(*m_trace, analysis));
  ASSERT_EQ(ranks.size(), 3u);
  const std::pair<int64_t, std::pair<LatePhase, const char*>> kExpected[] = {
      {1, {LatePhase::Compute, "mlp"}},
      {0, {LatePhase::Launch, "tokenize"}},
      {2, {LatePhase::DataLoading, "dataloader"}}};
  for (size_t i = 0; i < 3; ++i) {
    const auto& [rank, place] = kExpected[i];
    EXPECT_EQ(ranks[i].rank, rank);
    EXPECT_EQ(ranks[i].phase(), place.first) << rank;
    ASSERT_TRUE(ranks[i].range) << rank;
    EXPECT_EQ(m_trace->text(*ranks[i].range), place.second) << rank;
  }
}

TEST_F(Stragglers, AFilterChoosesInstancesButNotWhatTheyAreComparedFrom) {
  addRanks(2);
  collective({{TimePoint(100), TimePoint(200)}, {TimePoint(110), TimePoint(200)}});
  m_builder.addKernel(m_ranks[1].work(210, 400), "gemm");
  collective({{TimePoint(320), TimePoint(700)}, {TimePoint(620), TimePoint(700)}});
  Filter filter;
  filter.from = TimePoint(300);
  const CollectiveAnalysis analysis = analyze(filter);
  const auto ranks = valueOf(findStragglers(*m_trace, analysis));
  EXPECT_EQ(ranks.at(0).instanceCount, 1);
  EXPECT_EQ(ranks.at(0).parts[kCompute], Duration(400));
  EXPECT_EQ(ranks.at(0).unexplained, Duration(0));
}

TEST_F(Stragglers, CollectivesOfOneGroupAreComparedFromTheOneBeforeIt) {
  addRanks(2);
  collective({{TimePoint(100), TimePoint(200)}, {TimePoint(100), TimePoint(200)}});
  m_builder.addKernel(m_ranks[1].work(200, 100), "gemm");
  std::vector<int64_t> correlations = {m_builder.newCorrelation(), m_builder.newCorrelation()};
  for (int64_t sequence = 1; sequence <= 2; ++sequence) {
    for (size_t i = 0; i < 2; ++i) {
      m_builder.addCollective({.process = m_ranks[i].process,
                               .thread = m_ranks[i].thread,
                               .communicator = m_communicators[i],
                               .startNs = 250,
                               .sequence = sequence,
                               .externalId = 9});
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    m_builder.addLink(m_ranks[i].process, 9, correlations[i]);
    m_builder.addKernel(m_ranks[i].otherWork(i == 0 ? 210 : 310, i == 0 ? 190 : 90, correlations[i]), "ncclDevKernel");
  }
  const CollectiveAnalysis analysis = analyze();
  const auto lateness = valueOf(explainLateness(*m_trace, analysis));
  ASSERT_EQ(lateness.size(), 3u);
  for (size_t i = 1; i < 3; ++i) {
    ASSERT_TRUE(lateness[i]);
    EXPECT_EQ(lateness[i]->phase(), LatePhase::Compute);
    EXPECT_EQ(lateness[i]->causedWait, Duration(100));
  }
}

// What the ranks do is drawn at random; each nanosecond is put into a phase by hand.
TEST_F(Stragglers, PartsAreThoseOfEveryNanosecondAndAddUp) {
  std::mt19937 random(11);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  constexpr int64_t kLength = 6000, kRanks = 3;
  addRanks(kRanks);
  // Per rank and nanosecond: bits of compute, communication, copy, loading.
  std::vector<std::vector<unsigned>> at(kRanks, std::vector<unsigned>(kLength, 0));
  const auto paint = [&](size_t rank, int64_t start, int64_t length, unsigned bit) {
    for (int64_t t = start; t < std::min(start + length, kLength); ++t) at[rank][static_cast<size_t>(t)] |= bit;
  };
  std::vector<std::vector<Interval>> instances;
  for (int64_t i = 0; i < 8; ++i) {
    std::vector<Interval> times;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      const int64_t start = 100 + i * 700 + number(400);
      const int64_t end = 100 + i * 700 + 450 + number(100);
      times.push_back({TimePoint(start), TimePoint(end)});
      paint(rank, start, end - start, 2);
    }
    instances.push_back(times);
    collective(times);
  }
  for (size_t rank = 0; rank < kRanks; ++rank) {
    for (int i = 0; i < 40; ++i) {
      const int64_t start = number(kLength - 200), length = number(120);
      switch (number(4)) {
        case 0:
          m_builder.addKernel(m_ranks[rank].work(start, length), "gemm");
          paint(rank, start, length, 1);
          break;
        case 1:
          m_builder.addCopy(m_ranks[rank].work(start, length), 10);
          paint(rank, start, length, 4);
          break;
        case 2:
          if (length == 0) break;
          m_builder.addRange(m_ranks[rank].process, m_ranks[rank].thread, start, length, "DataLoader next");
          paint(rank, start, length, 8);
          break;
        default:
          break;
      }
    }
  }
  const CollectiveAnalysis analysis = analyze();
  const auto lateness = valueOf(explainLateness(*m_trace, analysis));
  int64_t explained = 0;
  for (size_t i = 0; i < analysis.instances.size(); ++i) {
    const CollectiveInstance& instance = analysis.instances[i];
    if (!lateness[i]) continue;
    ++explained;
    ASSERT_EQ(instance.sequence, static_cast<int64_t>(i));
    TimeByPhase parts;
    Duration sum;
    for (size_t rank = 0; rank < kRanks; ++rank) {
      std::array<int64_t, kLatePhaseCount> mine{};
      const int64_t begin = std::min(instances[i - 1][rank].end, instances[i][rank].start).ns();
      for (int64_t t = begin; t < instances[i][rank].start.ns(); ++t) {
        const unsigned bits = at[rank][static_cast<size_t>(t)];
        ++mine[bits & 1 ? kCompute : bits & 2 ? kPrevious : bits & 4 ? kCopies : bits & 8 ? kLoading : kLaunch];
      }
      mine[kPrevious] += begin;
      const int64_t weight = rank == instance.lastArrival ? kRanks - 1 : -1;
      for (size_t phase = 0; phase < kLatePhaseCount; ++phase) parts[phase] += Duration(weight * mine[phase]);
    }
    EXPECT_EQ(lateness[i]->parts, parts) << i;
    for (const Duration part : lateness[i]->parts) sum += part;
    EXPECT_EQ(sum, lateness[i]->causedWait) << i;
  }
  EXPECT_GT(explained, 4);
  Duration caused, waited;
  for (const RankLateness& rank : valueOf(findStragglers(*m_trace, analysis))) {
    caused += rank.causedWait;
    waited += rank.waited;
    Duration sum = rank.unexplained + rank.recordingLater;
    for (const Duration part : rank.parts) sum += part;
    EXPECT_EQ(sum, rank.causedWait);
  }
  EXPECT_EQ(caused, waited);
}

}  // namespace
}  // namespace plumb::test
