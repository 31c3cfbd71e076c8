// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyses/idle.h"
#include "analyzer/intervals/intervals.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

void launch(TraceBuilder& trace, const OneRank& rank, int64_t call, int64_t start, int64_t duration) {
  const int64_t correlation = trace.newCorrelation();
  trace.addApiCall(rank.process, rank.thread, call, 5, "cudaLaunchKernel", correlation);
  trace.addKernel(rank.work(start, duration, correlation), "kernel");
}

TEST(HostWaits, CauseTheIdleTimeInsideAndTheNextLaunchesLatency) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launch(trace, rank, 0, 10, 90);  // 10-100
    trace.addRange(rank.process, rank.thread, 15, 100, "read loss");
    trace.addApiCall(rank.process, rank.thread, 20, 85, "cudaStreamSynchronize", 7);
    trace.addApiCall(rank.process, rank.thread, 25, 70, "cuStreamSynchronize", 8);  // inside it
    trace.execute(
        "INSERT INTO synchronization(process_id, stream_id, start_ns, duration_ns, kind, correlation) VALUES(" +
        std::to_string(rank.process) + "," + std::to_string(rank.stream) + ",21,80,3,7)");
    launch(trace, rank, 120, 130, 20);  // the device idles 100-130
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto waits = valueOf(findHostWaits(trace, {}));
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].what, WaitsFor::Stream);
  EXPECT_EQ(waits[0].stream, StreamId(1));
  EXPECT_EQ(waits[0].time, intervalOf(20, 85));
  ASSERT_TRUE(waits[0].cost);
  EXPECT_EQ(waits[0].cost->causedIdle, Duration(5 + 10));  // inside the wait, and from the launch to its work
  EXPECT_EQ(waits[0].cost->exposedHost, Duration(15));     // until the launch
  EXPECT_EQ(waits[0].cost->avoidable, Duration(30));       // the wait was longer than that
  EXPECT_EQ(trace.text(*waits[0].range), "read loss");
}

TEST(HostWaits, OfOneOperatorOfEmitNvtxAreOneSite) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    for (int64_t i = 0; i < 3; ++i) {
      trace.addRange(rank.process, rank.thread, 1000 * i, 500, "aten::item, op_id = " + std::to_string(i));
      trace.addApiCall(rank.process, rank.thread, 1000 * i + 10, 100, "cudaStreamSynchronize", i + 1);
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto sites = valueOf(totalHostWaits(trace, {}, WaitGrouping::Site));
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].durations.count(), 3u);
}

TEST(HostWaits, StreamsThatWaitForEventsAreNoHostWaits) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.execute("INSERT INTO synchronization(process_id, start_ns, duration_ns, kind, correlation) VALUES(" +
                  std::to_string(rank.process) + ",0,10,2,1),(" + std::to_string(rank.process) + ",20,10,4,2)");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto waits = valueOf(findHostWaits(trace, {}));
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].what, WaitsFor::Device);
  EXPECT_FALSE(waits[0].cost);  // nobody knows which thread it was
}

TEST(HostWaits, ABlockingCopyIsOne) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addApiCall(rank.process, rank.thread, 0, 50, "cudaMemcpy", 7);
    trace.addApiCall(rank.process, rank.thread, 60, 5, "cudaMemcpyAsync", 8);
    trace.addCopy(rank.work(10, 30, 7), 100);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto totals = valueOf(totalHostWaits(trace, {}, WaitGrouping::Site));
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0].first.what, WaitsFor::Copy);
}

TEST(HostWaits, AnAsynchronousCopyOfPageableMemoryIsOneWhenItsCallLasted) {
  constexpr int64_t kDeviceToHost = 2, kPageable = 1, kPinned = 2, kDevice = 3;
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addApiCall(rank.process, rank.thread, 0, 50, "cudaMemcpyAsync", 7);
    trace.addCopy(rank.work(10, 30, 7), 4, kDeviceToHost, kDevice, kPageable);
    trace.addApiCall(rank.process, rank.thread, 60, 5, "cudaMemcpyAsync", 8);  // returned before the copy
    trace.addCopy(rank.work(63, 30, 8), 4, kDeviceToHost, kDevice, kPageable);
    trace.addApiCall(rank.process, rank.thread, 100, 50, "cudaMemcpyAsync", 9);
    trace.addCopy(rank.work(110, 30, 9), 4, kDeviceToHost, kDevice, kPinned);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto waits = valueOf(findHostWaits(trace, {}));
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].what, WaitsFor::Copy);
  EXPECT_EQ(waits[0].time, intervalOf(0, 50));
}

TEST(HostWaits, WhatTheHostDoesLongAfterAWaitIsNotTheWaitsDoing) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launch(trace, rank, 0, 10, 90);                                                 // 10-100
    trace.addApiCall(rank.process, rank.thread, 98, 3, "cudaEventSynchronize", 7);  // 98-101
    trace.addRange(rank.process, rank.thread, 101, 9'000, "read the next file");
    launch(trace, rank, 9'200, 9'204, 20);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto waits = valueOf(findHostWaits(trace, {}));
  ASSERT_TRUE(waits.at(0).cost);
  EXPECT_EQ(waits[0].cost->causedIdle, Duration(1 + 4));
  EXPECT_EQ(waits[0].cost->exposedHost, Duration(9'200 - 101));
  EXPECT_EQ(waits[0].cost->avoidable, Duration(3)) << "without it the host would be 3 ns earlier";
}

// One thread's launches and waits, at random.
struct RandomRun {
  struct Work {
    Interval time;
    TimePoint launch;
  };
  std::vector<Work> work;  // by start
  std::vector<Interval> waits;

  explicit RandomRun(const std::string& path, std::mt19937& random) {
    const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
    TraceBuilder trace(path);
    const OneRank rank(trace);
    for (int64_t at = number(20); at < 600 || work.empty(); at += 10 + number(40)) {
      if (number(2) && at < 600) {
        trace.addApiCall(rank.process, rank.thread, at, 9, "cudaDeviceSynchronize", trace.newCorrelation());
        waits.push_back(intervalOf(at, 9));
      } else {
        const int64_t start = at + 6 + number(60), duration = 1 + number(30);
        launch(trace, rank, at, start, duration);
        work.push_back({intervalOf(start, duration), TimePoint(at)});
      }
    }
    std::ranges::stable_sort(work, {}, [](const Work& one) { return std::pair(one.time.start, one.time.end); });
  }

  // The wait that the idle moment is charged to, and whether it caused it; none: something else did.
  [[nodiscard]] std::optional<std::pair<size_t, bool>> chargedTo(TimePoint t) const {
    TimePoint gapStart = TimePoint(INT64_MIN / 2);
    for (const Work& one : work) {
      if (one.time.contains(t)) return std::nullopt;
      if (one.time.end <= t) gapStart = std::max(gapStart, one.time.end);
    }
    const auto next = std::ranges::find_if(work, [t](const Work& one) { return one.time.start > t; });
    if (gapStart < work.front().time.start || next == work.end() || next->launch <= gapStart) return std::nullopt;
    std::optional<std::pair<size_t, bool>> charged;
    for (size_t i = 0; i < waits.size(); ++i) {
      const bool isInGap = waits[i].end > gapStart && waits[i].start < std::min(next->launch, next->time.start);
      if (!isInGap || waits[i].start > t) continue;
      if (waits[i].contains(t)) return std::pair(i, true);
      if (!charged) charged = {i, t >= next->launch};  // the first one let the device run dry
    }
    return charged;
  }
};

TEST(HostWaits, CostsAreThoseOfABruteForceAndAddUpToTheIdleCause) {
  std::mt19937 random(13);
  for (int round = 0; round < 20; ++round) {
    const TraceFile file;
    const RandomRun run(file.path(), random);
    Trace trace = valueOf(Trace::open(file.path()));
    std::vector<HostWait::Cost> expected(run.waits.size());
    for (int64_t t = 0; t < 1000; ++t) {
      const auto charged = run.chargedTo(TimePoint(t));
      if (!charged) continue;
      HostWait::Cost& cost = expected[charged->first];
      (charged->second ? cost.causedIdle : cost.exposedHost) += Duration(1);
    }
    const auto waits = valueOf(findHostWaits(trace, {}));
    ASSERT_EQ(waits.size(), expected.size());
    Duration caused, idle;
    for (size_t i = 0; i < waits.size(); ++i) {
      ASSERT_TRUE(waits[i].cost);
      EXPECT_EQ(waits[i].cost->causedIdle, expected[i].causedIdle) << round << ": " << i;
      EXPECT_EQ(waits[i].cost->exposedHost, expected[i].exposedHost) << round << ": " << i;
      EXPECT_EQ(waits[i].cost->avoidable - waits[i].cost->refill,
                std::min(expected[i].causedIdle + expected[i].exposedHost, waits[i].time.length()));
      EXPECT_GE(waits[i].cost->refill, Duration());
      EXPECT_LE(waits[i].cost->avoidable, waits[i].time.length());
      caused += waits[i].cost->causedIdle;
    }
    for (const DeviceIdle& device : valueOf(findIdle(trace))) {
      for (const auto& [key, total] : device.byEvidence) {
        if (key.first == IdleCause::HostSynchronization) idle += total.time;
      }
    }
    EXPECT_EQ(caused, idle);
  }
}

}  // namespace
}  // namespace plumb::test
