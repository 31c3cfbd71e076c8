// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_forest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyzer/analyses/windows.h"

namespace plumb::test {
namespace {

HostNode node(int64_t start, int64_t duration, int64_t payload, int64_t depth = 0, int64_t track = 1) {
  HostNode made;
  made.track = track;
  made.time = intervalOf(start, duration);
  made.depth = depth;
  made.payload = payload;
  return made;
}

HostNode openNode(int64_t start, int64_t payload, int64_t depth) {
  HostNode made = node(start, 0, payload, depth);
  made.time.end = kAllTime.end;
  made.isOpen = true;
  return made;
}

// The payload of the parent of each payload; -1: none.
std::vector<int64_t> parentsOf(const HostForest& forest) {
  std::vector<int64_t> parents(forest.nodes().size(), -1);
  for (const HostNode& n : forest.nodes()) {
    if (n.parent >= 0) parents[static_cast<size_t>(n.payload)] = forest.nodes()[static_cast<size_t>(n.parent)].payload;
  }
  return parents;
}

TEST(HostForest, NestsByTimeOnEachTrack) {
  const HostForest forest({node(0, 100, 0), node(10, 30, 1), node(15, 5, 2), node(40, 60, 3), node(20, 10, 4, 0, 2)});
  EXPECT_EQ(parentsOf(forest), (std::vector<int64_t>{-1, 0, 1, 0, -1}));
  EXPECT_EQ(forest.nodes()[0].covered, Duration(90));
}

TEST(HostForest, DepthDecidesBetweenNodesThatBeginTogether) {
  const HostForest forest({node(0, 10, 0, 1), node(0, 10, 1, 0), node(0, 10, 2, 2)});
  EXPECT_EQ(parentsOf(forest), (std::vector<int64_t>{1, -1, 0}));
}

TEST(HostForest, WhatSticksOutIsASibling) {
  const HostForest forest({node(0, 100, 0), node(10, 30, 1), node(30, 40, 2)});
  EXPECT_EQ(parentsOf(forest), (std::vector<int64_t>{-1, 0, 0}));
  EXPECT_EQ(forest.nodes()[0].covered, Duration(60));  // 10-70, once
}

TEST(HostForest, AnOpenNodeHoldsWhatIsDeeperUntilItsLevelIsOver) {
  const HostForest forest(
      {openNode(0, 0, 0), node(10, 5, 1, 1), openNode(20, 2, 1), node(30, 5, 3, 2), node(40, 5, 4, 1)});
  EXPECT_EQ(parentsOf(forest), (std::vector<int64_t>{-1, 0, 0, 2, 0}));
  EXPECT_EQ(forest.nodes()[2].time.end, TimePoint(40));
}

TEST(HostForest, ACallBelongsToTheInnermostNodeThatHoldsAllOfIt) {
  const HostForest forest({node(0, 100, 0), node(10, 30, 1)});
  EXPECT_EQ(forest.innermost(1, intervalOf(12, 5)), 1u);
  EXPECT_EQ(forest.innermost(1, intervalOf(35, 10)), 0u);  // reaches out of the inner one
  EXPECT_EQ(forest.innermost(1, intervalOf(50, 10)), 0u);
  EXPECT_EQ(forest.innermost(1, intervalOf(95, 10)), std::nullopt);
  EXPECT_EQ(forest.innermost(2, intervalOf(12, 5)), std::nullopt);
}

// Random nested nodes: each is split into disjoint children, down to some level.
void grow(std::vector<HostNode>& nodes, std::mt19937& random, Interval time, int64_t depth, int64_t track) {
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  int64_t at = time.start.ns();
  while (depth < 5 && at < time.end.ns()) {
    at += number(30);
    const int64_t length = number(60);
    if (at + length > time.end.ns()) return;
    nodes.push_back(node(at, length, static_cast<int64_t>(nodes.size()), depth, track));
    grow(nodes, random, intervalOf(at, length), depth + 1, track);
    at += length;
  }
}

TEST(HostForest, ProjectionIsThatOfABruteForce) {
  std::mt19937 random(11);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  for (int round = 0; round < 50; ++round) {
    std::vector<HostNode> nodes;
    for (int64_t track : {1, 2}) grow(nodes, random, intervalOf(0, 300), 0, track);
    std::vector<Projected> work;
    for (int64_t i = number(60); i > 0; --i) {
      work.push_back({1 + number(3), intervalOf(number(300), number(12)), intervalOf(number(600), number(50))});
    }
    std::ranges::shuffle(nodes, random);
    const HostForest forest(nodes);
    const std::vector<Projection> found = forest.project(work);
    for (size_t i = 0; i < forest.nodes().size(); ++i) {
      const HostNode& n = forest.nodes()[i];
      std::vector<Interval> inside;
      Duration total;
      for (const Projected& item : work) {
        if (item.track != n.track || item.call.start < n.time.start || n.time.end < item.call.end) continue;
        if (n.time.empty() || item.call.start == n.time.end) continue;  // half-open
        inside.push_back(item.gpu);
        total += item.gpu.length();
      }
      ASSERT_EQ(found[i].count, static_cast<int64_t>(inside.size()));
      ASSERT_EQ(found[i].total, total);
      ASSERT_EQ(found[i].busy, IntervalSet::unionOf(inside).length());
      if (inside.empty()) continue;
      ASSERT_EQ(found[i].hull.start, std::ranges::min(inside, {}, &Interval::start).start);
      ASSERT_EQ(found[i].hull.end, std::ranges::max(inside, {}, &Interval::end).end);
    }
  }
}

TEST(HostForest, SelfTimesAddUpToTheRoots) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    std::vector<HostNode> nodes;
    grow(nodes, random, intervalOf(0, 1000), 0, 1);
    const HostForest forest(nodes);
    Duration self, roots;
    for (const HostNode& n : forest.nodes()) {
      self += n.time.length() - n.covered;
      if (n.parent < 0) roots += n.time.length();
    }
    ASSERT_EQ(self, roots);
  }
}

TEST(SplitIntoNested, OverlappingNodesComeApart) {
  const auto groups = splitIntoNested({node(0, 10, 0), node(5, 10, 1), node(6, 2, 2), node(20, 5, 3)});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].size(), 3u);
  EXPECT_EQ(groups[1].size(), 1u);
}

}  // namespace
}  // namespace plumb::test
