// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/exposed_communication.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "analyzer/analyses/breakdown.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

// A kernel of a collective, with its record.
void addCollective(TraceBuilder& trace, const OneRank& rank, int64_t communicator, int64_t sequence, int64_t startNs,
                   int64_t endNs, bool onOtherStream = false) {
  const int64_t external = 100 + sequence, correlation = trace.newCorrelation();
  trace.addCollective({.process = rank.process,
                       .thread = rank.thread,
                       .communicator = communicator,
                       .startNs = startNs,
                       .sequence = sequence,
                       .elementCount = 1,
                       .bytes = 4,
                       .externalId = external});
  trace.addLink(rank.process, external, correlation);
  trace.addKernel(onOtherStream ? rank.otherWork(startNs, endNs - startNs, correlation)
                                : rank.work(startNs, endNs - startNs, correlation),
                  "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
}

std::vector<ExposedCommunication> exposedIn(const std::string& path, const Filter& filter = {}) {
  Trace trace = valueOf(Trace::open(path));
  return valueOf(findExposedCommunication(trace, filter));
}

TEST(ExposedCommunication, IsWaitingUntilTheLastRankArrivesAndThenTransfer) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (int64_t i = 0; i < 2; ++i) {
      const OneRank rank(trace, i, 2);
      addCollective(trace, rank, trace.addCommunicator(rank.process, 7, 2, i), 0, i == 0 ? 100 : 160, 200);
      trace.addKernel(rank.otherWork(90, 30), "gemm");  // 90-120
    }
  }
  const auto found = exposedIn(file.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].operation, "AllReduce");
  EXPECT_EQ(found[0].basis, MatchBasis::Records);
  EXPECT_EQ(found[0].waiting, Duration(160 - 120));
  EXPECT_EQ(found[0].transfer, Duration(40));
  EXPECT_EQ(found[0].lateRank, 1);
  EXPECT_EQ(found[0].where, intervalOf(100, 100));
  EXPECT_EQ(found[1].waiting, Duration());
  EXPECT_EQ(found[1].transfer, Duration(40));
}

// Two ranks of four, whose collectives were not recorded.
void addUnrecorded(TraceBuilder& trace, int64_t worldSize) {
  for (int64_t i = 0; i < 2; ++i) {
    const OneRank rank(trace, i, worldSize);
    trace.addKernel(rank.work(i == 0 ? 100 : 160, i == 0 ? 100 : 41), "ncclDevKernel_SendRecv");
    trace.addKernel(rank.work(300, 10 + i), "ncclDevKernel_SendRecv");
  }
}

TEST(ExposedCommunication, OfKernelsWithoutRecordsIsToldByNamesAndTimes) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addUnrecorded(trace, 2);
  }
  const auto found = exposedIn(file.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].operation, "SendRecv");
  EXPECT_EQ(found[0].basis, MatchBasis::Names);
  EXPECT_EQ(found[0].kernelCount, 2);
  EXPECT_EQ(found[0].waiting, Duration(60));
  EXPECT_EQ(found[0].transfer, Duration(40 + 10));
  EXPECT_EQ(found[0].lateRank, 1);
}

TEST(ExposedCommunication, SaysWhatWasWaitedForARecordingThatBeganLater) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addUnrecorded(trace, 2);
    trace.execute("UPDATE process SET start_ns = 40 WHERE rank = 1");
  }
  const auto found = exposedIn(file.path());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].rank, 0);
  EXPECT_EQ(found[0].waiting, Duration(60)) << "all of it";
  EXPECT_EQ(found[0].recordingLater, Duration(40)) << "it came 120 after its begin, rank 0 100 after its own";
  EXPECT_EQ(found[0].laterRecorded, 1);
  EXPECT_EQ(found[0].lateRank, 1) << "20 late besides";
}

TEST(ExposedCommunication, CannotBeToldApartFromTransferWhereRanksAreMissing) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addUnrecorded(trace, 4);
  }
  const auto found = exposedIn(file.path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].waiting, Duration(60)) << "at least until the last of those that are here";
  EXPECT_EQ(found[0].transfer, Duration());
  EXPECT_EQ(found[0].unknown, Duration(50));
}

TEST(ExposedCommunication, OfOneRankAloneIsUnknown) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace, 0, 2);
    trace.addKernel(rank.work(0, 100), "ncclKernel_AllGather_RING_LL_Sum_int8_t");
  }
  const auto found = exposedIn(file.path());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].operation, "AllGather");
  EXPECT_EQ(found[0].unknown, Duration(100));
}

// A collective from 100 to 200, and after it a kernel that the call with that time launched.
ExposedCommunication beforeAKernelLaunched(Interval call, std::optional<Interval> wait = {}) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace, 0, 2);
    const auto add = [&](Interval time, const char* name) {
      const int64_t correlation = trace.newCorrelation();
      trace.addApiCall(rank.process, rank.thread, time.start.ns(), time.length().ns(), name, correlation);
      return correlation;
    };
    trace.addKernel(rank.otherWork(100'000, 100'000, add(intervalOf(80'000, 2'000), "cudaLaunchKernel")),
                    "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    if (wait) add(*wait, "cudaStreamSynchronize");
    const int64_t start = std::max<int64_t>(200'000, call.end.ns() + 3'000);
    trace.addKernel(rank.work(start, 50'000, add(call, "cudaLaunchKernel")), "gemm");
  }
  const auto found = exposedIn(file.path());
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at(0).unknown, Duration(100'000));
  return found.at(0);
}

TEST(ExposedCommunication, HoldsUpOnlyWorkThatWasLaunchedAndHostsThatWait) {
  EXPECT_EQ(beforeAKernelLaunched(intervalOf(90'000, 2'000)).heldUp, Duration(100'000)) << "in the queue all the time";
  EXPECT_EQ(beforeAKernelLaunched(intervalOf(150'000, 10'000)).heldUp, Duration(40'000)) << "since its launch";
  EXPECT_EQ(beforeAKernelLaunched(intervalOf(201'000, 2'000)).heldUp, Duration()) << "the host was late";
  const auto waited = beforeAKernelLaunched(intervalOf(206'000, 2'000), intervalOf(110'000, 95'000));
  EXPECT_EQ(waited.heldUp, Duration(90'000)) << "the host was late, because it waited for the collective";
  const auto elsewhere = beforeAKernelLaunched(intervalOf(206'000, 2'000), intervalOf(110'000, 30'000));
  EXPECT_EQ(elsewhere.heldUp, Duration()) << "that wait was over long before the collective was";
}

TEST(ExposedCommunication, CannotSayWhatItHeldUpWithoutLaunches) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace, 0, 2);
    trace.addKernel(rank.work(0, 100), "ncclDevKernel_AllReduce");
    trace.addKernel(rank.work(100, 100), "gemm");
  }
  const auto found = exposedIn(file.path());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].heldUp, Duration());
  EXPECT_EQ(found[0].launchUnknown, Duration(100));
}

// Every nanosecond is what the definition says, and all parts are the breakdown's exposed communication.
TEST(ExposedCommunication, IsThatOfABruteForce) {
  struct Kernel {
    int64_t start, end, arrival;  // arrival: of the last rank
  };
  std::mt19937 random(5);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  for (int round = 0; round < 10; ++round) {
    const TraceFile file;
    std::array<std::vector<Kernel>, 2> collectives;
    std::array<std::vector<Interval>, 2> compute;
    {
      TraceBuilder trace(file.path());
      std::vector<std::array<int64_t, 3>> plan;  // starts of both ranks, end
      for (int64_t at = 0; at < 300; at += 10 + number(40)) {
        plan.push_back({at + number(30), at + number(30), at + 31 + number(30)});
      }
      for (size_t r = 0; r < 2; ++r) {
        const OneRank rank(trace, static_cast<int64_t>(r), 2);
        const int64_t communicator = trace.addCommunicator(rank.process, 7, 2, static_cast<int64_t>(r));
        for (size_t i = 0; i < plan.size(); ++i) {
          addCollective(trace, rank, communicator, static_cast<int64_t>(i), plan[i][r], plan[i][2], i % 2 == 1);
          collectives[r].push_back({plan[i][r], plan[i][2], std::max(plan[i][0], plan[i][1])});
          const int64_t start = plan[i][r] + number(40), duration = number(25);
          trace.addKernel(rank.work(start, duration), "gemm");
          compute[r].push_back(intervalOf(start, duration));
        }
      }
    }
    Trace trace = valueOf(Trace::open(file.path()));
    Filter filter;
    if (round % 2 == 1) filter.from = TimePoint(100), filter.to = TimePoint(250);
    const auto found = valueOf(findExposedCommunication(trace, filter));
    const auto breakdowns = valueOf(breakDown(trace, filter));
    for (size_t r = 0; r < 2; ++r) {
      Duration transfer, waiting, exposed;
      for (int64_t t = filter.from ? 100 : 0; t < (filter.to ? 250 : 1000); ++t) {
        const TimePoint now(t);
        if (std::ranges::any_of(compute[r], [&](const Interval& one) { return one.contains(now); })) continue;
        bool runs = false, transfers = false;
        for (const Kernel& kernel : collectives[r]) {
          if (t < kernel.start || t >= kernel.end) continue;
          runs = true;
          transfers |= t >= kernel.arrival;
        }
        if (runs) (transfers ? transfer : waiting) += Duration(1);
      }
      for (const ExposedCommunication& one : found) {
        if (one.rank != static_cast<int64_t>(r)) continue;
        EXPECT_EQ(one.transfer, transfer) << round;
        EXPECT_EQ(one.waiting, waiting) << round;
        EXPECT_EQ(one.unknown + one.missing, Duration()) << round;
        exposed += one.exposed();
      }
      EXPECT_EQ(exposed, breakdowns.at(r).whole.exposedCommunication) << round;
    }
  }
}

TEST(ExposedCommunication, TheOperationIsInTheKernelsName) {
  EXPECT_EQ(operationOfKernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
            "AllReduce");
  EXPECT_EQ(operationOfKernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"), "SendRecv");
  EXPECT_EQ(operationOfKernel("ncclReduceScatterRingLLKernel_sum_f32"), "ReduceScatter");
  EXPECT_EQ(operationOfKernel("ncclDevKernel_Reduce_Sum_f32"), "Reduce");
  EXPECT_EQ(operationOfKernel("ncclDevKernel_Generic"), "other");
}

}  // namespace
}  // namespace plumb::test
