// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_waits.h"

#include <gtest/gtest.h>

#include <random>

#include "analyzer/intervals/intervals.h"

#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

void launch(TraceBuilder& trace, const OneRank& rank, int64_t call, int64_t start, int64_t duration) {
  const int64_t correlation = trace.newCorrelation();
  trace.addApiCall(rank.process, rank.thread, call, 5, "cudaLaunchKernel", correlation);
  trace.addKernel(rank.work(start, duration, correlation), "kernel");
}

TEST(HostWaits, IdleTimeUntilTheNextLaunchReachesTheDevice) {
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
  EXPECT_EQ(waits[0].gpuIdle, Duration(30));
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
  EXPECT_EQ(waits[0].gpuIdle, std::nullopt);  // nobody knows which thread it was
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

// On one thread no idle time is counted twice, and each wait has what the brute force gives it.
TEST(HostWaits, IdleTimeIsThatOfABruteForce) {
  std::mt19937 random(13);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  for (int round = 0; round < 20; ++round) {
    const TraceFile file;
    std::vector<Interval> work, waiting;
    std::vector<std::pair<int64_t, int64_t>> launches;  // (call, GPU start)
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      for (int64_t at = number(20); at < 600; at += 10 + number(40)) {
        if (number(2)) {
          const int64_t start = at + 6 + number(60), duration = 1 + number(30);
          launch(trace, rank, at, start, duration);
          launches.emplace_back(at, start);
          work.push_back(intervalOf(start, duration));
        } else {
          trace.addApiCall(rank.process, rank.thread, at, 9, "cudaDeviceSynchronize", trace.newCorrelation());
          waiting.push_back(intervalOf(at, 9));
        }
      }
      if (work.empty()) {
        launch(trace, rank, 1000, 1010, 5);
        launches.emplace_back(1000, 1010);
        work.push_back(intervalOf(1010, 5));
      }
    }
    Trace trace = valueOf(Trace::open(file.path()));
    const auto waits = valueOf(findHostWaits(trace, {}));
    ASSERT_EQ(waits.size(), waiting.size());
    const IntervalSet busy = IntervalSet::unionOf(work);
    for (size_t i = 0; i < waits.size(); ++i) {
      int64_t until = i + 1 < waiting.size() ? waiting[i + 1].start.ns() : INT64_MAX;
      for (const auto& [call, start] : launches) {
        if (call >= waiting[i].end.ns()) {
          until = std::min(until, start);
          break;
        }
      }
      const auto isBusy = [&](int64_t t) { return busy.lengthWithin(intervalOf(t, 1)) > Duration(); };
      int64_t idle = 0, dry = waiting[i].end.ns();
      while (!isBusy(waiting[i].end.ns()) && dry > waiting[i].start.ns() && !isBusy(dry - 1)) --dry;
      for (int64_t t = dry; t < std::min(until, busy.hull().end.ns()); ++t) {
        const bool inHull = busy.hull().contains(TimePoint(t));
        idle += inHull && !isBusy(t);
      }
      EXPECT_EQ(waits[i].gpuIdle, Duration(idle)) << i;
    }
  }
}

}  // namespace
}  // namespace plumb::test
