// SPDX-License-Identifier: Apache-2.0
// Every bundled rule: a small run that it is about, with the gain by hand; a healthy run, about which no rule has
// anything to say; and a trace without the data, about which each says why it cannot tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "analyzer/advice/advice.h"
#include "analyzer/advice/rule_file.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

constexpr int64_t kUs = 1'000, kMs = 1'000'000;

Advice adviceOn(const TraceFile& file, const Filter& filter = {}) {
  Trace trace = valueOf(Trace::open(file.path()));
  valueOf(registerSqlSurface(trace, valueOf(findReports({}))));
  return valueOf(advise(trace, filter, {}));
}

std::optional<Finding> findingOf(const Advice& advice, const std::string& rule) {
  const auto found = std::ranges::find(advice.findings, rule, &Finding::rule);
  return found == advice.findings.end() ? std::nullopt : std::optional(*found);
}

std::string reasonOf(const Advice& advice, const std::string& rule) {
  const auto found = std::ranges::find(advice.abstentions, rule, &Abstention::rule);
  return found == advice.abstentions.end() ? std::string() : found->reason;
}

int64_t gainOf(const Advice& advice, const std::string& rule) {
  const auto finding = findingOf(advice, rule);
  if (!finding) return -1;
  return finding->gain ? finding->gain->ns() : -2;
}

// A rank whose one thread launches work on its streams.
struct Host {
  TraceBuilder& trace;
  OneRank rank;

  int64_t call(int64_t startNs, int64_t durationNs, const char* name) const {
    const int64_t correlation = trace.newCorrelation();
    trace.addApiCall(rank.process, rank.thread, startNs, durationNs, name, correlation);
    return correlation;
  }
  // A kernel and the call of 2 µs that launched it.
  int64_t launch(int64_t hostNs, int64_t gpuNs, int64_t durationNs, const char* name = "gemm") const {
    return trace.addKernel(rank.work(gpuNs, durationNs, call(hostNs, 2 * kUs, "cudaLaunchKernel")), name);
  }
};

// Ten steps of a kernel that was launched early, with a copy of pinned memory under it.
void addHealthySteps(const Host& host) {
  for (int64_t step = 0; step < 10; ++step) {
    const int64_t begin = step * kMs;
    host.trace.addRange(host.rank.process, host.rank.thread, begin, kMs, "step");
    const int64_t external = step + 1, correlation = host.trace.newCorrelation();
    host.trace.addLibraryCall({.process = host.rank.process,
                               .thread = host.rank.thread,
                               .startNs = begin + 10 * kUs,
                               .m = 1024,
                               .n = 1024,
                               .k = 1024,
                               .externalId = external});
    host.trace.addLink(host.rank.process, external, correlation);
    host.trace.addApiCall(host.rank.process, host.rank.thread, begin + 10 * kUs, 2 * kUs, "cudaLaunchKernel",
                          correlation);
    host.trace.addKernel(host.rank.work(begin + kMs, 990 * kUs, correlation), "gemm");
    host.trace.addCopy(
        host.rank.otherWork(begin + kMs + 100 * kUs, 50 * kUs, host.call(begin + 20 * kUs, kUs, "cudaMemcpyAsync")),
        1 << 20);
  }
}

TEST(Rules, SayNothingAboutAHealthyRun) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (int64_t i = 0; i < 2; ++i) {
      const OneRank rank(trace, i, 2);
      trace.execute("UPDATE device SET kind = 'gpu', compute_major = 9, memory_bytes = 1073741824");
      trace.addRoof(rank.process, 0, "bf16", 1e14);
      trace.addRoof(rank.process, 0, "fp32", 1e13);
      trace.addRoof(rank.process, 0, "memory", 1e12);
      trace.addAllocation(
          {.process = rank.process, .device = rank.device, .startNs = 0, .address = 4096, .bytes = 1 << 20});
      addHealthySteps({trace, rank});
      const int64_t communicator = trace.addCommunicator(rank.process, 7, 2, i);
      for (int64_t step = 0; step < 10; ++step) {
        const int64_t external = 100 + step, correlation = trace.newCorrelation();
        trace.addCollective({.process = rank.process,
                             .thread = rank.thread,
                             .communicator = communicator,
                             .startNs = step * kMs + 30 * kUs,
                             .sequence = step,
                             .elementCount = 1 << 20,
                             .bytes = 4 << 20,
                             .externalId = external});
        trace.addLink(rank.process, external, correlation);
        trace.addApiCall(rank.process, rank.thread, step * kMs + 30 * kUs, kUs, "cudaLaunchKernelExC", correlation);
        trace.addKernel(rank.otherWork((step + 1) * kMs + 200 * kUs, 300 * kUs, correlation),
                        "ncclDevKernel_AllReduce");
      }
    }
  }
  const Advice advice = adviceOn(file);
  for (const Finding& finding : advice.findings) ADD_FAILURE() << finding.rule << ": " << finding.finding;
  for (const Abstention& one : advice.abstentions) {
    EXPECT_THAT(one.rule, testing::AnyOf("loss_scale_skips", "memset_sync", "half_model"))
        << one.reason;  // it has neither
  }
}

TEST(Rules, SayWhyTheyCannotTell) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(0, 100), "kernel");  // no calls, ranges, steps, memory, collectives …
  }
  const Advice advice = adviceOn(file);
  EXPECT_TRUE(advice.findings.empty());
  const std::pair<const char*, const char*> kReasons[] = {
      {"api_sync", "neither API calls nor synchronizations"},
      {"data_loading", "neither ranges nor operators"},
      {"first_steps", "no steps"},
      {"fp32_gemms", "data types of matrix products"},
      {"fp16_without_scaler", "data types of matrix products"},
      {"fragmentation", "allocator reserved"},
      {"fusion", "memory roof"},
      {"half_model", "optimizer"},
      {"hidden_synchronization", "neither API calls nor synchronizations"},
      {"launch_bound", "no API calls"},
      {"loss_scale_skips", "neither a loss scale nor skipped steps"},
      {"memcpy_async_pageable", "no copies"},
      {"memcpy_sync", "no copies"},
      {"memory_near_limit", "no allocations"},
      {"memset_sync", "no memory sets"},
      {"misaligned_gemms", "no library calls"},
      {"missing_rank", "no collectives"},
      {"needless_scaler", "data types of matrix products"},
      {"queue_full", "no API calls"},
      {"small_collectives", "no collectives"},
      {"small_kernels", "no API calls"},
      {"stragglers", "no collective"}};
  for (const auto& [rule, reason] : kReasons) EXPECT_THAT(reasonOf(advice, rule), HasSubstr(reason)) << rule;
}

TEST(Rules, SayOfATraceWithoutWorkThatTheyCannotTell) {
  const TraceFile file;
  { const TraceBuilder trace(file.path()); }
  const Advice advice = adviceOn(file);
  EXPECT_TRUE(advice.findings.empty());
  for (const char* rule : {"gpu_gaps", "gpu_time_utilization", "exposed_communication", "unoverlapped_copies"}) {
    EXPECT_THAT(reasonOf(advice, rule), HasSubstr("no work of a device")) << rule;
  }
}

TEST(Rules, LaunchBound) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRange(host.rank.process, host.rank.thread, 0, 50 * 100 * kUs, "loop");
    for (int64_t i = 0; i < 50; ++i) host.launch(i * 100 * kUs, i * 100 * kUs + 3 * kUs, 60 * kUs);
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "launch_bound"), 49 * 40 * kUs);
  EXPECT_EQ(gainOf(advice, "hidden_synchronization"), -1);
  EXPECT_EQ(gainOf(advice, "small_kernels"), -1);  // they are not small
  const auto finding = findingOf(advice, "launch_bound");
  ASSERT_TRUE(finding && finding->where);
  EXPECT_EQ(finding->where->length(), Duration(40 * kUs));
  EXPECT_THAT(finding->evidence, testing::ElementsAre(testing::StartsWith("kernel ")));
}

TEST(Rules, GainsAreOfThePartThatWasAskedFor) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRange(host.rank.process, host.rank.thread, 0, 50 * 100 * kUs, "loop");
    for (int64_t i = 0; i < 50; ++i) host.launch(i * 100 * kUs, i * 100 * kUs + 3 * kUs, 60 * kUs);
  }
  Filter filter;
  filter.to = TimePoint(10 * 100 * kUs + 3 * kUs);
  EXPECT_EQ(gainOf(adviceOn(file, filter), "launch_bound"), 10 * 40 * kUs);
}

TEST(Rules, SmallKernels) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    // All queued at once; the device needs 2 µs from one kernel of 3 µs to the next.
    for (int64_t i = 0; i < 40; ++i) host.launch(i * 10, 1000 * kUs + i * 5 * kUs, 3 * kUs, "pointwise");
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "small_kernels"), 39 * 2 * kUs);
  EXPECT_EQ(gainOf(advice, "launch_bound"), -1);
}

TEST(Rules, SmallKernelsAreFoundInTheLoopThatLaunchedThem) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRange(host.rank.process, host.rank.thread, 0, 500, "batch 64");
    trace.addRange(host.rank.process, host.rank.thread, 1000, 500, "batch 8192");
    for (int64_t i = 0; i < 40; ++i) {
      const int64_t small = host.call(i * 10, 9, "cudaLaunchKernel"),
                    large = host.call(1000 + i * 10, 9, "cudaLaunchKernel");
      trace.addKernel(host.rank.work(kMs + i * 5 * kUs, 3 * kUs, small), "pointwise");
      trace.addKernel(host.rank.work(2 * kMs + i * 502 * kUs, 500 * kUs, large), "pointwise");
    }
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "small_kernels"), 39 * 2 * kUs);
  EXPECT_THAT(findingOf(advice, "small_kernels")->finding, HasSubstr("40 kernels of 3.0 µs on average in 'batch 64'"));
  EXPECT_THAT(findingOf(advice, "small_kernels")->evidence, testing::ElementsAre("kernel 1", "kernel 79"));
}

// A loop that waits for its kernel before it launches the next.
void addWaitingLoop(const Host& host) {
  host.trace.addRange(host.rank.process, host.rank.thread, 0, 10 * 200 * kUs, "loop");
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t begin = i * 200 * kUs;
    host.launch(begin, begin + 10 * kUs, 100 * kUs);
    host.call(begin + 20 * kUs, 91 * kUs, "cudaStreamSynchronize");
  }
}

TEST(Rules, HiddenSynchronization) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addWaitingLoop({trace, OneRank(trace)});
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "hidden_synchronization"), 9 * 100 * kUs);
  EXPECT_EQ(gainOf(advice, "api_sync"), 9 * 100 * kUs);
  EXPECT_EQ(gainOf(advice, "launch_bound"), -1) << "the launches are late because of the waits";
  const auto finding = findingOf(advice, "hidden_synchronization");
  EXPECT_THAT(finding->finding, HasSubstr("cudaStreamSynchronize in loop, 10 times"));
  EXPECT_THAT(finding->evidence, testing::ElementsAre(testing::StartsWith("api_call ")));
}

TEST(Rules, WhatAWaitCostsIsAtMostItsOwnTime) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t begin = i * 500 * kUs;
      trace.addRange(host.rank.process, host.rank.thread, begin, 40 * kUs, "device work");
      host.launch(begin, begin + 10 * kUs, 20 * kUs);
      host.call(begin + 10 * kUs, 20 * kUs, "cudaStreamSynchronize");
      trace.addRange(host.rank.process, host.rank.thread, begin + 40 * kUs, 460 * kUs, "making data on the host");
    }
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "hidden_synchronization"), 10 * 20 * kUs);
  EXPECT_EQ(gainOf(advice, "api_sync"), 10 * 20 * kUs);
  // The host is busy for the rest, and advice says with what.
  EXPECT_GT(gainOf(advice, "launch_bound"), 9 * 400 * kUs);
  EXPECT_THAT(findingOf(advice, "launch_bound")->finding, HasSubstr("while the host was in 'making data on the host'"));
}

TEST(Rules, ReadingTheLossInEveryStepIsFoundThoughTheDeviceIsHardlyIdle) {
  constexpr int64_t kDeviceToHost = 2, kPageable = 1, kDevice = 3;
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRange(host.rank.process, host.rank.thread, 0, 20 * kMs, "loss read every step");
    for (int64_t i = 0; i < 20; ++i) {
      host.launch(i * kMs, i * kMs + 8 * kUs, 982 * kUs);
      trace.addCopy(
          host.rank.work(i * kMs + 990 * kUs, 5 * kUs, host.call(i * kMs + 10 * kUs, 990 * kUs, "cudaMemcpyAsync")), 4,
          kDeviceToHost, kDevice, kPageable);
    }
    host.launch(20 * kMs, 20 * kMs + 8 * kUs, 100 * kMs);
  }
  const auto finding = findingOf(adviceOn(file), "hidden_synchronization");
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->finding, HasSubstr("cudaMemcpyAsync in loss read every step, 20 times"));
  EXPECT_EQ(finding->gain, Duration(20 * 13 * kUs));  // from the copy's end to the next kernel's start
}

TEST(Rules, DataLoading) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t begin = i * 200 * kUs;
      trace.addRange(host.rank.process, host.rank.thread, begin, 60 * kUs, "enumerate(DataLoader)#__next__");
      host.launch(begin + 60 * kUs, begin + 65 * kUs, 135 * kUs);
    }
  }
  EXPECT_EQ(gainOf(adviceOn(file), "data_loading"), 9 * 60 * kUs);
}

// Two ranks that meet in collectives; the second arrives `lateNs` later.
void addCollectives(TraceBuilder& trace, int64_t count, int64_t bytes, int64_t periodNs, int64_t transferNs,
                    int64_t lateNs) {
  for (int64_t i = 0; i < 2; ++i) {
    const OneRank rank(trace, i, 2);
    const int64_t communicator = trace.addCommunicator(rank.process, 7, 2, i);
    for (int64_t n = 0; n < count; ++n) {
      const int64_t external = 100 + n, correlation = trace.newCorrelation();
      const int64_t arrival = n * periodNs + (i == 1 ? lateNs : 0);
      trace.addKernel(
          rank.work(arrival - periodNs + transferNs + lateNs, periodNs - transferNs - lateNs + (i == 1 ? lateNs : 0)),
          "gemm");
      trace.addCollective({.process = rank.process,
                           .thread = rank.thread,
                           .communicator = communicator,
                           .startNs = arrival - 3 * kUs,
                           .sequence = n,
                           .elementCount = bytes / 4,
                           .bytes = bytes,
                           .externalId = external});
      trace.addLink(rank.process, external, correlation);
      trace.addApiCall(rank.process, rank.thread, arrival - 3 * kUs, kUs, "cudaLaunchKernelExC", correlation);
      trace.addKernel(rank.work(arrival, n * periodNs + lateNs + transferNs - arrival, correlation),
                      "ncclDevKernel_AllReduce");
    }
  }
}

TEST(Rules, ExposedCommunication) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 10, 64 << 20, 1000 * kUs, 300 * kUs, 0);
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "exposed_communication"), 10 * 300 * kUs);
  EXPECT_EQ(gainOf(advice, "stragglers"), -1);
  EXPECT_EQ(gainOf(advice, "small_collectives"), -1);
}

TEST(Rules, StragglersAreNotCountedAsCommunication) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 10, 64 << 20, 1000 * kUs, 20 * kUs, 400 * kUs);
  }
  const Advice advice = adviceOn(file);
  const auto straggler = findingOf(advice, "stragglers");
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 1);
  EXPECT_EQ(straggler->gain, Duration(9 * 400 * kUs)) << "the first one's skew is the program's start";
  EXPECT_EQ(gainOf(advice, "exposed_communication"), -1) << "rank 0 waits; its transfers are 2 % of the span";
}

TEST(Rules, AMissingRankIsNamedAndItsWaitIsNotCommunication) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 10, 64 << 20, 1000 * kUs, 20 * kUs, 0);
    // The last one never saw rank 1, and rank 0 gave up after half a second.
    trace.execute("DELETE FROM collective WHERE sequence = 9 AND process_id = 2");
    trace.execute(
        "UPDATE kernel SET duration_ns = 500000000 WHERE id = (SELECT max(id) FROM kernel WHERE process_id = 1)");
    trace.execute("DELETE FROM kernel WHERE id = (SELECT max(id) FROM kernel WHERE process_id = 2)");
  }
  const Advice advice = adviceOn(file);
  const auto missing = findingOf(advice, "missing_rank");
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->rank, 1);
  EXPECT_EQ(missing->gain, Duration(500 * kMs));
  EXPECT_THAT(missing->finding, HasSubstr("rank 1 never came to AllReduce 9"));
  EXPECT_THAT(missing->finding, HasSubstr("rank 0 waited for it up to 500.00 ms"));
  EXPECT_EQ(gainOf(advice, "exposed_communication"), -1);
  EXPECT_EQ(gainOf(advice, "stragglers"), -1);
}

TEST(Rules, SmallCollectivesAreComparedWithLargerOnesThatAreSmallToo) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 40, 4096, 100 * kUs, 10 * kUs, 0);
    trace.execute("UPDATE collective SET bytes = 262144, element_count = 65536 WHERE sequence >= 35");
  }
  const auto finding = findingOf(adviceOn(file), "small_collectives");
  ASSERT_TRUE(finding);
  EXPECT_NEAR(static_cast<double>(finding->gain->ns()), 35e4 * 63 / 64, 1);
  EXPECT_THAT(finding->arithmetic, HasSubstr("AllReduce of 256.0 KiB"));
}

TEST(Rules, SmallCollectives) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 40, 4096, 100 * kUs, 10 * kUs, 0);
    // The last five are as fast with 16384 times the bytes.
    trace.execute("UPDATE collective SET bytes = 67108864, element_count = 16777216 WHERE sequence >= 35");
  }
  EXPECT_NEAR(static_cast<double>(gainOf(adviceOn(file), "small_collectives")), 35e4 * 16383 / 16384, 1);
}

TEST(Rules, SmallCollectivesAloneHaveNothingToBeComparedWith) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addCollectives(trace, 40, 4096, 100 * kUs, 10 * kUs, 0);
  }
  EXPECT_THAT(reasonOf(adviceOn(file), "small_collectives"), HasSubstr("no larger collectives"));
}

TEST(Rules, PageableCopies) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 0, kMs);
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t begin = (i + 1) * kMs;
      trace.addCopy(host.rank.otherWork(begin, 400 * kUs, host.call(begin, 500 * kUs, "cudaMemcpyAsync")), 1 << 20, 1,
                    1, 3);
    }
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "memcpy_async_pageable"), 3 * 500 * kUs);
  EXPECT_EQ(gainOf(advice, "memcpy_sync"), -1);
}

TEST(Rules, ABlockedHostCostsNothingWhileTheDeviceIsBusy) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 0, 5 * kMs);
    trace.addCopy(host.rank.otherWork(kMs, 400 * kUs, host.call(kMs, 500 * kUs, "cudaMemcpyAsync")), 1 << 20, 1, 1, 3);
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "memcpy_async_pageable"), 0);
  EXPECT_EQ(gainOf(advice, "unoverlapped_copies"), -1);
}

TEST(Rules, SynchronousCopiesAndSets) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 0, kMs);
    trace.addCopy(host.rank.otherWork(kMs, 400 * kUs, host.call(kMs, 450 * kUs, "cudaMemcpy")), 1 << 20);
    trace.addSet(host.rank.otherWork(2 * kMs, 100 * kUs, host.call(2 * kMs, 120 * kUs, "cudaMemset")), 1 << 20);
    trace.execute("UPDATE memory_copy SET is_async = 0");
    trace.execute("UPDATE memory_set SET is_async = 0");
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "memcpy_sync"), 450 * kUs);
  EXPECT_EQ(gainOf(advice, "memset_sync"), 120 * kUs);
}

TEST(Rules, UnoverlappedCopies) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 0, 600 * kUs);
    trace.addCopy(host.rank.otherWork(500 * kUs, 500 * kUs), 1 << 20);
  }
  EXPECT_EQ(gainOf(adviceOn(file), "unoverlapped_copies"), 400 * kUs);
}

TEST(Rules, CopiesOfTheSetUpAreNotUnoverlapped) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addCopy(host.rank.otherWork(0, 500 * kUs, host.call(0, kUs, "cudaMemcpyAsync")), 1 << 20);
    for (int64_t step = 0; step < 5; ++step) {
      trace.addRange(host.rank.process, host.rank.thread, (1 + step) * kMs, 900 * kUs, "step");
      host.launch((1 + step) * kMs, (1 + step) * kMs + 5 * kUs, 900 * kUs);
    }
  }
  EXPECT_EQ(gainOf(adviceOn(file), "unoverlapped_copies"), -1);
}

TEST(Rules, GapsAndUtilization) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 0, 100 * kMs);
    host.launch(690 * kMs, 700 * kMs, 100 * kMs);
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "gpu_gaps"), 600 * kMs);
  EXPECT_EQ(gainOf(advice, "gpu_time_utilization"), 600 * kMs);
  EXPECT_EQ(findingOf(advice, "gpu_gaps")->where->start, TimePoint(100 * kMs));
}

void addProduct(const Host& host, int64_t startNs, const char* type, int64_t n) {
  const int64_t correlation = host.trace.newCorrelation();
  host.trace.addLibraryCall({.process = host.rank.process,
                             .thread = host.rank.thread,
                             .startNs = startNs,
                             .m = 1024,
                             .n = n,
                             .k = 1024,
                             .computeType = type,
                             .externalId = correlation});
  host.trace.addLink(host.rank.process, correlation, correlation);
  host.trace.addApiCall(host.rank.process, host.rank.thread, startNs, kUs, "cudaLaunchKernel", correlation);
  host.trace.addKernel(host.rank.work(startNs + 2 * kUs, 100 * kUs, correlation), "gemm");
}

TEST(Rules, Fp32MatrixProductsByMeasuredRoofs) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRoof(host.rank.process, 0, "fp32", 1e12);
    trace.addRoof(host.rank.process, 0, "bf16", 4e12);
    for (int64_t i = 0; i < 4; ++i) addProduct(host, i * 200 * kUs, "fp32", 512);
  }
  EXPECT_EQ(gainOf(adviceOn(file), "fp32_gemms"), 300 * kUs);  // 400 µs x (1 - 1/4)
}

TEST(Rules, Fp32MatrixProductsAreNoFaultOfADeviceThatIsFastestInThem) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRoof(host.rank.process, 0, "fp32", 1e12);
    trace.addRoof(host.rank.process, 0, "bf16", 1e11);
    addProduct(host, 0, "fp32", 512);
  }
  EXPECT_EQ(gainOf(adviceOn(file), "fp32_gemms"), -1);
}

TEST(Rules, Fp32MatrixProductsOfADeviceWithoutRoofs) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addProduct({trace, OneRank(trace)}, 0, "fp32", 512);
  }
  EXPECT_THAT(reasonOf(adviceOn(file), "fp32_gemms"), HasSubstr("how fast the device is in smaller formats"));
}

TEST(Rules, MisalignedMatrixProducts) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    addProduct(host, 0, "bf16", 512);
    addProduct(host, 200 * kUs, "bf16", 50257);
    addProduct(host, 400 * kUs, "bf16", 1001);
  }
  const auto finding = findingOf(adviceOn(file), "misaligned_gemms");
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->finding, HasSubstr("2 bf16 matrix products"));
  EXPECT_THAT(finding->finding, HasSubstr("1024 x 50257 x 1024"));
  EXPECT_EQ(finding->gain, std::nullopt);
  EXPECT_THAT(finding->evidence, testing::ElementsAre("library_call 2"));
}

TEST(Rules, MemoryBoundChain) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRoof(host.rank.process, 0, "memory", 1e9);
    trace.addRoof(host.rank.process, 0, "fp32", 1e12);
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t begin = i * kMs;
      const int64_t range = trace.addRange(host.rank.process, host.rank.thread, begin, 10 * kUs, "gelu");
      trace.addPayload(range, "flops", int64_t{1000});
      trace.addPayload(range, "bytes", int64_t{900'000});
      host.launch(begin + kUs, begin + 20 * kUs, kMs - 20 * kUs, "gelu");
    }
  }
  EXPECT_EQ(gainOf(adviceOn(file), "fusion"), 4 * (kMs - 20 * kUs) / 2);
}

TEST(Rules, LossScaleSkips) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    for (int64_t step = 0; step < 10; ++step) {
      trace.addRange(host.rank.process, host.rank.thread, step * kMs, 900 * kUs, "step");
      host.launch(step * kMs + kUs, step * kMs + 5 * kUs, 800 * kUs);
      if (step < 3) trace.addRange(host.rank.process, host.rank.thread, step * kMs + 850 * kUs, kUs, "skipped step", 1);
    }
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "loss_scale_skips"), 3 * 900 * kUs);
  EXPECT_THAT(findingOf(advice, "loss_scale_skips")->finding, HasSubstr("3 of 10 steps"));
}

TEST(Rules, TheWholeModelInHalf) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    for (int64_t i = 0; i < 3; ++i)
      host.launch(i * kMs, i * kMs + 5 * kUs, 100 * kUs, "adamwInHalf(__half*, __half const*)");
    host.launch(4 * kMs, 4 * kMs + 5 * kUs, 100 * kUs, "adamw(float*, float const*)");
    trace.addPayload(trace.addRange(host.rank.process, host.rank.thread, 3 * kMs, kUs, "weights that are inf or nan"),
                     "payload", int64_t{17});
  }
  const auto finding = findingOf(adviceOn(file), "half_model");
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->finding, HasSubstr("3 times; the program counted weights that are inf or nan: 17"));
  EXPECT_EQ(finding->gain, std::nullopt);
}

TEST(Rules, MasterWeightsAreNoModelInHalf) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 5 * kUs, 100 * kUs, "multi_tensor_apply_kernel<AdamFunctorMaster<c10::Half, float>>(int)");
    host.launch(kMs, kMs + 5 * kUs, 100 * kUs, "FusedAdamMathFunctor<float, 4>(float const*)");
  }
  EXPECT_EQ(gainOf(adviceOn(file), "half_model"), -1);
}

// Matrix products in steps with a backward pass; where the loss is scaled, with ranges called unscale.
void addTraining(const Host& host, const char* type, bool isScaled) {
  for (int64_t step = 0; step < 5; ++step) {
    const int64_t begin = step * kMs;
    host.trace.addRange(host.rank.process, host.rank.thread, begin, 300 * kUs, "backward");
    addProduct(host, begin + 10 * kUs, type, 512);
    if (!isScaled) continue;
    const int64_t range =
        host.trace.addRange(host.rank.process, host.rank.thread, begin + 400 * kUs, 100 * kUs, "unscale");
    host.trace.addPayload(range, "payload", int64_t{65536});
    host.launch(begin + 410 * kUs, begin + 420 * kUs, 50 * kUs, "scaleAndCheck");
  }
}

TEST(Rules, Fp16NeedsALossScale) {
  for (const bool isScaled : {false, true}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      addTraining({trace, OneRank(trace)}, "fp16", isScaled);
    }
    const Advice advice = adviceOn(file);
    EXPECT_EQ(findingOf(advice, "fp16_without_scaler").has_value(), !isScaled);
    EXPECT_FALSE(findingOf(advice, "needless_scaler"));
  }
}

TEST(Rules, Bf16NeedsNoLossScale) {
  for (const bool isScaled : {false, true}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      addTraining({trace, OneRank(trace)}, "bf16", isScaled);
    }
    const Advice advice = adviceOn(file);
    EXPECT_EQ(gainOf(advice, "needless_scaler"), isScaled ? 5 * 50 * kUs : -1);
    EXPECT_FALSE(findingOf(advice, "fp16_without_scaler"));
  }
}

TEST(Rules, InferenceInFp16NeedsNoLossScale) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addProduct({trace, OneRank(trace)}, 0, "fp16", 512);
  }
  EXPECT_EQ(gainOf(adviceOn(file), "fp16_without_scaler"), -1);
}

TEST(Rules, ThoseWithoutAParameterForAFilterAbstain) {
  const TraceFile file;
  makeSampleTrace(file.path());
  Filter filter;
  filter.step = 2;
  EXPECT_THAT(reasonOf(adviceOn(file, filter), "memory_near_limit"), HasSubstr("takes no --step"));
}

TEST(Rules, FirstSteps) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    int64_t begin = 0;
    for (int64_t step = 0; step < 12; ++step) {
      const int64_t length = step < 2 ? 5 * kMs : kMs;
      trace.addRange(host.rank.process, host.rank.thread, begin, length, "step");
      host.launch(begin + kUs, begin + 5 * kUs, length - 10 * kUs);
      begin += length;
    }
  }
  const Advice advice = adviceOn(file);
  EXPECT_FALSE(findingOf(advice, "first_steps")->gain);  // nothing that a change of the steps would save
  EXPECT_THAT(findingOf(advice, "first_steps")->arithmetic, HasSubstr("8.00 ms"));
  EXPECT_THAT(findingOf(advice, "first_steps")->finding, HasSubstr("2 of 12 steps"));
}

TEST(Rules, MemoryNearTheLimit) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.execute("UPDATE device SET kind = 'gpu', memory_bytes = 1000000000");
    trace.addKernel(rank.work(0, 100), "kernel");
    trace.addAllocation(
        {.process = rank.process, .device = rank.device, .startNs = 5, .address = 4096, .bytes = 950'000'000});
  }
  const Advice advice = adviceOn(file);
  const auto finding = findingOf(advice, "memory_near_limit");
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->finding, HasSubstr("95.0 %"));
  EXPECT_EQ(finding->gain, std::nullopt);
}

TEST(Rules, Fragmentation) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(0, 100), "kernel");
    trace.addAllocation({.process = rank.process,
                         .device = rank.device,
                         .startNs = 5,
                         .address = 1 << 20,
                         .bytes = 1'000'000'000,
                         .space = "reserved"});
    trace.addAllocation({.process = rank.process,
                         .device = rank.device,
                         .startNs = 6,
                         .address = 1 << 20,
                         .bytes = 500'000'000,
                         .fromPool = true});
    trace.addAllocation({.process = rank.process,
                         .device = rank.device,
                         .startNs = 7,
                         .address = 2'000'000'000,
                         .bytes = 1000,
                         .space = "reserved"});
  }
  const auto finding = findingOf(adviceOn(file), "fragmentation");
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->finding, HasSubstr("(50.0 %)"));
}

TEST(Rules, FullLaunchQueue) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    for (int64_t i = 0; i < 1100; ++i) {
      const int64_t correlation = host.call(i * kUs, i < 1050 ? kUs : 100 * kUs, "cudaLaunchKernel");
      trace.addKernel(host.rank.work(10 * kMs + i * 20 * kUs, 20 * kUs, correlation), "gemm");
    }
  }
  const auto finding = findingOf(adviceOn(file), "queue_full");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->gain, std::nullopt);
}

TEST(Rules, AreSortedByGain) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addWaitingLoop({trace, OneRank(trace)});
  }
  const Advice advice = adviceOn(file);
  EXPECT_TRUE(std::ranges::is_sorted(advice.findings, std::greater(),
                                     [](const Finding& finding) { return finding.gain ? finding.gain->ns() : -1; }));
}

TEST(Rules, DoNotFailOnTheSampleTrace) {
  const TraceFile file;
  makeSampleTrace(file.path());
  const Advice advice = adviceOn(file);
  for (const Abstention& one : advice.abstentions) {
    EXPECT_THAT(one.reason, testing::Not(HasSubstr("does not work"))) << one.rule << ": " << one.reason;
  }
  EXPECT_EQ(advice.findings.size() + advice.abstentions.size() + advice.quiet.size() >= builtinRules().size(), true);
}

}  // namespace
}  // namespace plumb::test
