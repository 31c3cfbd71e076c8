// SPDX-License-Identifier: Apache-2.0
// Every bundled rule (those of the host, of collectives and of precision in files of their own): a small run that it is
// about, with the gain by hand; a healthy run, about which no rule has anything to say; and a trace without the data,
// about which each says why it cannot tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "analyzer/advice/rule_file.h"
#include "tests/unit/analyzer/advice/rules.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

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

TEST(Rules, ThoseWithoutAParameterForAFilterAbstain) {
  const TraceFile file;
  makeSampleTrace(file.path());
  Filter filter;
  filter.step = 2;
  EXPECT_THAT(reasonOf(adviceOn(file, filter), "memory_near_limit"), HasSubstr("takes no --step"));
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

// 900 MB reserved, 400 MB handed out; of the other reserved bytes it is known from when on they were.
Advice adviceOnReserved(double first) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(0, 100), "kernel");
    trace.addCounter(rank.process, 5, "torch reserved bytes, device 0", first);
    trace.addCounter(rank.process, 5, "torch allocated bytes, device 0", 1e8);
    trace.addCounter(rank.process, 9, "torch reserved bytes, device 0", 9e8);
    trace.addCounter(rank.process, 9, "torch allocated bytes, device 0", 4e8);
    trace.addAllocation({.process = rank.process,
                         .device = rank.device,
                         .startNs = 5,
                         .address = 1 << 20,
                         .bytes = 400'000'000,
                         .fromPool = true});
  }
  return adviceOn(file);
}

TEST(Rules, WhatWasReservedBeforeTheRecordingMayHaveServedThen) {
  EXPECT_TRUE(findingOf(adviceOnReserved(2e8), "fragmentation"));
  const Advice advice = adviceOnReserved(9e8);
  EXPECT_FALSE(findingOf(advice, "fragmentation"));
  EXPECT_THAT(reasonOf(advice, "fragmentation"), HasSubstr("reserved already when memory was first recorded"));
}

TEST(Rules, MemoryThatIsHandedOutLaterWasOnlyCached) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(0, 100), "kernel");
    const auto add = [&](int64_t startNs, uint64_t address, int64_t bytes, const char* space) {
      trace.addAllocation({.process = rank.process,
                           .device = rank.device,
                           .startNs = startNs,
                           .address = address,
                           .bytes = bytes,
                           .space = space,
                           .fromPool = std::string(space) == "device"});
    };
    add(5, 1 << 20, 1'000'000'000, "reserved");
    add(6, 1 << 20, 500'000'000, "device");      // half of it, as in the test above,
    add(7, 600'000'000, 400'000'000, "device");  // and later nearly all of it
  }
  EXPECT_EQ(gainOf(adviceOn(file), "fragmentation"), -1);
}

// 1000 MiB reserved, all handed out and then half of it freed, in pieces of 100 MiB.
void runOutOfMemory(TraceBuilder& trace, const std::string& asked) {
  const OneRank rank(trace);
  constexpr int64_t kMiB = 1 << 20, kPieces = 10;
  for (int64_t i = 0; i < kPieces; ++i) {
    const int64_t address = kMiB + 100 * kMiB * i;
    const auto add = [&](const char* space, std::optional<int64_t> freed) {
      trace.addAllocation({.process = rank.process,
                           .device = rank.device,
                           .startNs = 5 + i,
                           .address = address,
                           .bytes = 100 * kMiB,
                           .freedNs = freed,
                           .space = space,
                           .fromPool = std::string(space) == "device"});
    };
    add("reserved", {});
    add("device", i % 2 == 0 ? std::optional<int64_t>(1000) : std::nullopt);
  }
  trace.addRange(rank.process, rank.thread, 2000, 0,
                 "out of memory: " + asked + " were asked for, 1.00 MiB were free on device 0");
  trace.execute("UPDATE range SET kind = 'mark', domain_id = " + std::to_string(trace.text("PyTorch memory")));
}

TEST(Rules, WithoutAnyDeviceWorkMostHaveTheSameReason) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addCollective(
        {.process = rank.process, .thread = rank.thread, .startNs = 10});  // as a flight recorder has it
  }
  const Advice advice = adviceOn(file);
  std::set<std::string> reasons;
  for (const Abstention& one : advice.abstentions) reasons.insert(one.reason);
  EXPECT_GT(advice.abstentions.size(), 20u);
  EXPECT_LE(reasons.size(), 5u);
  EXPECT_EQ(reasonOf(advice, "small_kernels"), "no work of a device was recorded");
}

TEST(Rules, RunningOutOfMemoryIsSaidWithWhatWasLiveAndCachedThen) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    runOutOfMemory(trace, "200.00 MiB");
  }
  const Advice advice = adviceOn(file);
  const auto exhausted = findingOf(advice, "memory_near_limit");
  ASSERT_TRUE(exhausted);
  EXPECT_EQ(exhausted->title, "The device ran out of memory");
  EXPECT_THAT(
      exhausted->finding,
      HasSubstr("200.00 MiB were asked for, 1.00 MiB were free on device 0; then 0.49 GiB were live, of 0.98 GiB "
                "reserved from the driver; the other 0.49 GiB were cached, the largest free block 100.0 MiB"));
  EXPECT_THAT(exhausted->remedy, HasSubstr("memory_peak FILE --from 2000 --to 2001"));
  EXPECT_THAT(exhausted->remedy, HasSubstr("in pieces that did not serve"));
  EXPECT_EQ(reasonOf(advice, "memory_near_limit"), "");
  const auto cached = findingOf(advice, "fragmentation");
  ASSERT_TRUE(cached) << "nothing was cached while most was reserved, but when it mattered";
  EXPECT_THAT(cached->finding, HasSubstr("0.49 GiB were cached and did not serve (50.0 %)"));
}

TEST(Rules, WhatIsCachedIsNotToBlameWhenMoreWasAskedFor) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    runOutOfMemory(trace, "2.00 GiB");
  }
  const auto exhausted = findingOf(adviceOn(file), "memory_near_limit");
  ASSERT_TRUE(exhausted);
  EXPECT_THAT(exhausted->remedy, testing::Not(HasSubstr("in pieces")));
}

// As cudaMalloc fails, and cuMemAlloc inside it.
void failToAllocate(TraceBuilder& trace, const OneRank& rank) {
  trace.addApiCall(rank.process, rank.thread, 3000, 100, "cudaMalloc", 70);
  trace.addApiCall(rank.process, rank.thread, 3010, 80, "cuMemAlloc_v2", 71);
  trace.addApiCall(rank.process, rank.thread, 2000, 100, "cudaMallocHost", 72);  // none of the device's memory
  trace.execute("UPDATE api_call SET result = 2");
}

TEST(Rules, AFailedCallIsRunningOutOfMemory) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addAllocation({.process = rank.process,
                         .device = rank.device,
                         .startNs = 5,
                         .address = 4096,
                         .bytes = 3 << 28,
                         .freedNs = 4000});
    failToAllocate(trace, rank);
  }
  const Advice advice = adviceOn(file);
  const auto found = findingOf(advice, "memory_near_limit");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->title, "The device ran out of memory");
  EXPECT_THAT(found->finding, HasSubstr("cudaMalloc failed (error 2); then 0.75 GiB were live"));
  EXPECT_THAT(found->remedy, HasSubstr("memory_peak FILE --from 3100 --to 3101"));
  EXPECT_EQ(std::ranges::count(advice.findings, "memory_near_limit", &Finding::rule), 1);
  EXPECT_EQ(reasonOf(advice, "memory_near_limit"), "");
}

TEST(Rules, RunningOutOfMemoryIsSaidWhereNoAllocationWasRecorded) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    failToAllocate(trace, OneRank(trace));
  }
  const auto found = findingOf(adviceOn(file), "memory_near_limit");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->finding, HasSubstr("cudaMalloc failed (error 2); what was live then was not recorded"));
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
