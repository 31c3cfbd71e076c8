// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/breakdown.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

void expectIdentity(const Breakdown& b) {
  EXPECT_EQ(b.compute + b.exposedCommunication + b.exposedMemory + b.idle, b.span);
  EXPECT_EQ(b.busy + b.idle, b.span);
  EXPECT_EQ(b.overlap + b.exposedCommunication, b.communication);
}

// A collective with its kernel.
void addCollectiveKernel(TraceBuilder& trace, const OneRank& rank, int64_t startNs, int64_t durationNs,
                         int64_t externalId) {
  const int64_t correlation = trace.newCorrelation();
  trace.addKernel(rank.otherWork(startNs, durationNs, correlation), "some_kernel");
  const int64_t communicator = trace.addCommunicator(rank.process, 77, 1, 0);
  trace.addCollective({.process = rank.process,
                       .thread = rank.thread,
                       .communicator = communicator,
                       .startNs = startNs,
                       .externalId = externalId});
  trace.addLink(rank.process, externalId, correlation);
}

TEST(Breakdown, EveryPartByHand) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(100, 100), "a");          // 100-200
    trace.addKernel(rank.work(150, 100), "b");          // overlaps on the same stream: 150-250
    addCollectiveKernel(trace, rank, 200, 150, 1);      // 200-350, of it 200-250 with compute
    trace.addCopy(rank.work(340, 60), 1000);            // 340-400, of it 340-350 with communication
    trace.addSet(rank.work(500, 100), 1000);            // 500-600
    trace.addKernel(rank.work(600, 0), "zero");         // an event without length
    trace.addKernel(rank.work(0, 0, 0, 1), "untimed");  // CUPTI gave no time
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto devices = valueOf(breakDown(trace));
  ASSERT_EQ(devices.size(), 1u);
  const Breakdown& b = devices[0].whole;
  EXPECT_EQ(b.span, Duration(500));
  EXPECT_EQ(b.compute, Duration(150));
  EXPECT_EQ(b.communication, Duration(150));
  EXPECT_EQ(b.overlap, Duration(50));
  EXPECT_EQ(b.exposedCommunication, Duration(100));
  EXPECT_EQ(b.memory, Duration(160));
  EXPECT_EQ(b.exposedMemory, Duration(150));
  EXPECT_EQ(b.idle, Duration(100));
  EXPECT_EQ(b.busy, Duration(400));
  EXPECT_DOUBLE_EQ(*b.overlapShare(), 1.0 / 3);
  expectIdentity(b);
  EXPECT_EQ(devices[0].rank, 0);
  EXPECT_EQ(devices[0].eventCount, 7);
  EXPECT_EQ(devices[0].untimedEventCount, 1);
  EXPECT_EQ(devices[0].communicationSource, CommunicationSource::Records);
}

TEST(Breakdown, ZeroLengthEventsCountForTheSpan) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(100, 0), "a");
    trace.addKernel(rank.work(300, 0), "b");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const Breakdown b = valueOf(breakDown(trace)).at(0).whole;
  EXPECT_EQ(b.span, Duration(200));
  EXPECT_EQ(b.idle, Duration(200));
  expectIdentity(b);
}

TEST(Breakdown, WithoutCommunicationThereIsNoOverlap) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(0, 100), "a");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_EQ(valueOf(breakDown(trace)).at(0).whole.overlapShare(), std::nullopt);
}

TEST(Breakdown, NamesDecideOnlyWithoutRecords) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank named(trace, 0), recorded(trace, 1);
    trace.addKernel(named.work(0, 100), "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    trace.addKernel(recorded.work(0, 100), "ncclLookalike");
    addCollectiveKernel(trace, recorded, 200, 50, 1);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto devices = valueOf(breakDown(trace));
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].communicationSource, CommunicationSource::Names);
  EXPECT_EQ(devices[0].whole.communication, Duration(100));
  EXPECT_EQ(devices[1].communicationSource, CommunicationSource::Records);
  EXPECT_EQ(devices[1].whole.compute, Duration(100));
  EXPECT_EQ(devices[1].whole.communication, Duration(50));
}

TEST(Breakdown, ACopyOfACollectiveIsCommunication) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t communicator = trace.addCommunicator(rank.process, 77, 1, 0);
    trace.addCollective(
        {.process = rank.process, .thread = rank.thread, .communicator = communicator, .startNs = 0, .externalId = 5});
    trace.addLink(rank.process, 5, 42);
    trace.addCopy(rank.work(0, 100, 42), 1000);
    trace.addCopy(rank.work(100, 30, 43), 1000);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const Breakdown b = valueOf(breakDown(trace)).at(0).whole;
  EXPECT_EQ(b.communication, Duration(100));
  EXPECT_EQ(b.memory, Duration(30));
}

TEST(Breakdown, AProcessWithoutARankComesLast) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const int64_t process = trace.addProcess({});
    const int64_t device = trace.addDevice(process);
    const int64_t stream = trace.addStream(process, device, 7);
    trace.addKernel({.process = process, .device = device, .stream = stream, .startNs = 0, .durationNs = 10}, "a");
    const OneRank rank(trace, 3);
    trace.addKernel(rank.work(0, 20), "a");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto devices = valueOf(breakDown(trace));
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].rank, 3);
  EXPECT_EQ(devices[1].rank, std::nullopt);
}

TEST(Breakdown, NothingRecordedGivesNoRows) {
  const TraceFile file;
  TraceBuilder(file.path()).finish();
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_TRUE(valueOf(breakDown(trace)).empty());
}

TEST(Breakdown, HostileTimesAreLeftOut) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(INT64_MAX - 5, INT64_MAX), "a");
    trace.addKernel(rank.work(INT64_MIN, 10), "b");
    trace.addKernel(rank.work(100, -50), "c");
    trace.addKernel(rank.work(100, 50), "d");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto devices = valueOf(breakDown(trace));
  EXPECT_EQ(devices.at(0).untimedEventCount, 3);
  EXPECT_EQ(devices.at(0).whole.span, Duration(50));
}

TEST(Breakdown, IdentityHoldsForAnyWorkAndWindow) {
  std::mt19937 random(7);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  for (int round = 0; round < 100; ++round) {
    GpuActivity activity;
    for (IntervalSet* set : {&activity.compute, &activity.communication, &activity.memory}) {
      std::vector<Interval> intervals;
      for (int64_t i = number(20); i > 0; --i) intervals.push_back(intervalOf(number(1000), number(100)));
      *set = IntervalSet::unionOf(intervals);
    }
    const Breakdown b = breakDown(activity, intervalOf(number(500), number(800)));
    expectIdentity(b);
    EXPECT_LE(b.busy, b.span);
  }
}

}  // namespace
}  // namespace plumb::test
