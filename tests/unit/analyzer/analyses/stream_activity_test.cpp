// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stream_activity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

struct Event {
  int stream;
  GpuEventKind kind;
  Interval time;
};

// The moments between which nothing changes.
std::vector<Interval> elementaryIntervals(const std::vector<Event>& events) {
  std::set<TimePoint> edges;
  for (const Event& event : events) edges.insert({event.time.start, event.time.end});
  std::vector<Interval> result;
  for (auto at = edges.begin(); at != edges.end() && std::next(at) != edges.end(); ++at) {
    result.push_back({*at, *std::next(at)});
  }
  return result;
}

bool covers(const Event& event, Interval part) { return event.time.start <= part.start && part.end <= event.time.end; }

std::vector<Event> randomEvents(std::mt19937& random) {
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  std::vector<Event> events;
  for (int64_t i = 1 + number(40); i > 0; --i) {
    events.push_back(
        {static_cast<int>(number(4)), static_cast<GpuEventKind>(number(3)), intervalOf(number(500), number(60))});
  }
  return events;
}

TEST(StreamActivity, ConcurrencyIsThatOfABruteForce) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    const TraceFile file;
    const std::vector<Event> events = randomEvents(random);
    std::vector<int64_t> streams;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      for (int i = 0; i < 4; ++i) streams.push_back(trace.addStream(rank.process, rank.device, 20 + i));
      for (const Event& event : events) {
        trace.addKernel({.process = rank.process,
                         .device = rank.device,
                         .stream = streams[static_cast<size_t>(event.stream)],
                         .startNs = event.time.start.ns(),
                         .durationNs = event.time.length().ns()},
                        "kernel");
      }
    }
    Trace trace = valueOf(Trace::open(file.path()));
    for (const StreamActivity& found : valueOf(measureStreams(trace, {}))) {
      std::array<Duration, 3> want;
      for (const Interval& part : elementaryIntervals(events)) {
        std::set<int> busy;
        for (const Event& event : events) {
          if (covers(event, part)) busy.insert(event.stream);
        }
        const auto at = found.stream ? std::ranges::find(streams, found.stream->value()) - streams.begin() : -1;
        if (busy.empty() || (found.stream && !busy.count(static_cast<int>(at)))) continue;
        want[std::min<size_t>(busy.size(), 3) - 1] += part.length();
      }
      EXPECT_EQ(found.concurrent, want);
      EXPECT_EQ(found.busy, want[0] + want[1] + want[2]);
    }
  }
}

TEST(StreamActivity, TheDeviceComesBeforeItsStreams) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(100, 100), "a");
    trace.addKernel(rank.otherWork(150, 100), "b");
    trace.addKernel(rank.work(120, 10), "overlaps on its own stream");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto found = valueOf(measureStreams(trace, {}));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_FALSE(found[0].stream.has_value());
  EXPECT_EQ(found[0].span, Duration(150));
  EXPECT_EQ(found[0].busy, Duration(150));
  EXPECT_EQ(found[0].streamCount, 2);
  EXPECT_EQ(found[1].total, Duration(110));
  EXPECT_EQ(found[1].concurrent, (std::array<Duration, 3>{Duration(50), Duration(50), Duration(0)}));
  Filter filter;
  filter.from = TimePoint(190);
  filter.to = TimePoint(300);
  const auto clipped = valueOf(measureStreams(trace, filter));
  EXPECT_EQ(clipped[0].span, Duration(110));
  EXPECT_EQ(clipped[0].busy, Duration(60));
  EXPECT_EQ(clipped[1].busy, Duration(10));
}

TEST(KernelTypes, EveryCombinationIsThatOfABruteForce) {
  std::mt19937 random(4);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  for (int round = 0; round < 200; ++round) {
    const std::vector<Event> events = randomEvents(random);
    const Interval window = intervalOf(number(300), number(400));
    std::array<std::vector<Interval>, 3> sets;
    for (const Event& event : events) sets[static_cast<size_t>(event.kind)].push_back(event.time);
    GpuActivity activity;
    activity.compute = IntervalSet::unionOf(sets[0]);
    activity.communication = IntervalSet::unionOf(sets[1]);
    activity.memory = IntervalSet::unionOf(sets[2]);
    const auto found = exclusiveTimes(activity, IntervalSet::unionOf({window}));
    std::array<Duration, kKindCombinations> want;
    for (const Interval& part : elementaryIntervals(events)) {
      size_t combination = 0;
      for (const Event& event : events) {
        if (covers(event, part)) combination |= bitOf(event.kind);
      }
      want[combination] += clip(part, window).length();
    }
    Duration sum;
    for (size_t i = 1; i < kKindCombinations; ++i) {
      ASSERT_EQ(found[i], want[i]) << i;
      sum += found[i];
    }
    ASSERT_EQ(sum + found[0], window.length());
  }
}

}  // namespace
}  // namespace plumb::test
