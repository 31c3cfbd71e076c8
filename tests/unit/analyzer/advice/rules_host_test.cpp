// SPDX-License-Identifier: Apache-2.0
// Bundled rules about the host and the device: launches, waits, data loading, copies, gaps, first steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/advice/rules.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;

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

TEST(Rules, LittleIsASmallFindingAndNotCalledNotFound) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addRange(host.rank.process, host.rank.thread, 0, 50 * 500 * kUs, "loop");
    for (int64_t i = 0; i < 50; ++i) host.launch(i * 500 * kUs, i * 500 * kUs + 3 * kUs, 490 * kUs);
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "launch_bound"), 49 * 10 * kUs);  // 2 % of the span
  EXPECT_THAT(advice.quiet, testing::Not(testing::Contains("The device waits for launches")));
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
void addWaitingLoop(const Host& host, const char* wait = "cudaStreamSynchronize") {
  host.trace.addRange(host.rank.process, host.rank.thread, 0, 10 * 200 * kUs, "loop");
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t begin = i * 200 * kUs;
    host.launch(begin, begin + 10 * kUs, 100 * kUs);
    host.call(begin + 20 * kUs, 91 * kUs, wait);
  }
}

// Kernels, and after the first one the host sets something up for 20 ms.
std::string remedyOfOneGap(const char* call) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 3 * kUs, 100 * kUs);
    host.call(10 * kUs, 19 * kMs, call);
    for (int64_t i = 0; i < 5; ++i) host.launch((20 + 9 * i) * kMs, (20 + 9 * i) * kMs + 3 * kUs, 8 * kMs);
  }
  return findingOf(adviceOn(file), "launch_bound").value_or(Finding{}).remedy;
}

TEST(Rules, AGraphIsNoRemedyOfOneLongGap) {
  const std::string ofLibrary = remedyOfOneGap("cudaFree");
  EXPECT_THAT(ofLibrary, HasSubstr("one gap of 19."));
  EXPECT_THAT(ofLibrary, HasSubstr("in which the host called 'cudaFree' longest: see what the host did there"));
  EXPECT_THAT(ofLibrary, testing::Not(HasSubstr("Capture the step")));
  EXPECT_THAT(remedyOfOneGap("hipGraphInstantiate"), HasSubstr("making a CUDA graph, which a run does once"));
}

TEST(Rules, HiddenSynchronization) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addWaitingLoop({trace, OneRank(trace)});
  }
  const Advice advice = adviceOn(file);
  // The device is idle for 100 µs after each kernel, but the wait took 91 µs only.
  EXPECT_EQ(gainOf(advice, "hidden_synchronization"), 9 * 91 * kUs);
  EXPECT_EQ(gainOf(advice, "api_sync"), -1) << "they are the same waits";
  EXPECT_EQ(gainOf(advice, "launch_bound"), 9 * 9 * kUs) << "the other launches are late because of the waits";
  const auto finding = findingOf(advice, "hidden_synchronization");
  EXPECT_THAT(
      finding->finding,
      HasSubstr(
          "waits for the device in 'loop' held the host for 910 µs, most of it 'cudaStreamSynchronize', 10 times"));
  EXPECT_THAT(finding->evidence, testing::ElementsAre(testing::StartsWith("api_call ")));
}

// Whether the program uses PyTorch is no question then: neither of its remedies is one.
TEST(Rules, AWaitForTheWholeDeviceHasARemedyOfItsOwn) {
  for (const std::string wait : {"cudaStreamSynchronize", "cudaDeviceSynchronize"}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      addWaitingLoop({trace, OneRank(trace)}, wait.c_str());
    }
    const auto finding = findingOf(adviceOn(file), "hidden_synchronization");
    ASSERT_TRUE(finding);
    const bool isOfDevice = wait == "cudaDeviceSynchronize";
    EXPECT_EQ(finding->remedy.find("cudaStreamWaitEvent") != std::string::npos, isOfDevice) << finding->remedy;
    EXPECT_EQ(finding->remedy.find("every N steps") == std::string::npos, isOfDevice) << finding->remedy;
  }
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
      host.call(begin + 10 * kUs, 21 * kUs, "cudaStreamSynchronize");
      trace.addRange(host.rank.process, host.rank.thread, begin + 40 * kUs, 460 * kUs, "making data on the host");
    }
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "hidden_synchronization"), 9 * 21 * kUs);
  EXPECT_EQ(gainOf(advice, "api_sync"), -1);
  // The host is busy for the rest, and advice says with what, and what it leaves out.
  EXPECT_GT(gainOf(advice, "launch_bound"), 9 * 400 * kUs);
  const std::string late = findingOf(advice, "launch_bound")->finding;
  EXPECT_THAT(late, HasSubstr("was idle for 4.22 ms"));
  EXPECT_THAT(late, HasSubstr("in 4.14 ms of that while the host was in 'making data on the host'"));
  EXPECT_THAT(late, HasSubstr("waits for the device explain up to 90 µs of it, which leaves 4.13 ms"));
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
  EXPECT_THAT(
      finding->finding,
      HasSubstr("in 'loss read every step' held the host for 19.80 ms, most of it 'cudaMemcpyAsync', 20 times"));
  EXPECT_EQ(finding->gain, Duration(20 * 13 * kUs));  // from the copy's end to the next kernel's start
}

// Blocks whose first call uploads a value and waits until the queue is empty; the device then waits for every kernel of
// the block but the last, a long one, which lets the host get ahead.
TEST(Rules, AWaitThatEmptiesTheQueueCostsAllGapsUntilItIsFullAgain) {
  constexpr int64_t kHostToDevice = 1, kPageable = 1, kDevice = 3;
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    for (int64_t i = 0; i < 6; ++i) {
      const int64_t begin = i * 1000 * kUs;
      trace.addRange(host.rank.process, host.rank.thread, begin - 900 * kUs, 905 * kUs, "upload");
      const int64_t copy = host.call(begin - 810 * kUs, 5 * kUs, "cudaMemcpyAsync");
      trace.addCopy(host.rank.work(begin - 2 * kUs, 2 * kUs, copy), 8, kHostToDevice, kDevice, kPageable);
      trace.execute("UPDATE memory_copy SET source_kind = 1, target_kind = 3");
      host.call(begin - 800 * kUs, 802 * kUs, "cudaStreamSynchronize");
      // 2: the end of the wait. Launched each 20 µs, and idle for 10 µs before each.
      for (int64_t k = 0; k < 6; ++k) host.launch(begin + (12 + 20 * k) * kUs, begin + (15 + 20 * k) * kUs, 10 * kUs);
      host.launch(begin + 123 * kUs, begin + 125 * kUs, 873 * kUs);
    }
  }
  const Advice advice = adviceOn(file);
  const auto wait = findingOf(advice, "hidden_synchronization");
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->gain, Duration(6 * 15 * kUs + 6 * 5 * 10 * kUs)) << "up to the first kernel, and before the others";
  EXPECT_THAT(wait->finding, HasSubstr("300 µs in later gaps until its launches were ahead again"));
  EXPECT_THAT(wait->remedy, HasSubstr("copy from pinned memory without waiting"));
  EXPECT_EQ(gainOf(advice, "launch_bound"), -1) << "the waits explain it";
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

TEST(Rules, DataLoadingOfAStepIsThatBeforeItsFirstWork) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t begin = i * 200 * kUs;
      trace.addRange(host.rank.process, host.rank.thread, begin, 195 * kUs, "ProfilerStep#" + std::to_string(i));
      trace.addRange(host.rank.process, host.rank.thread, begin + kUs, 60 * kUs, "enumerate(DataLoader)#__next__");
      host.launch(begin + 62 * kUs, begin + 65 * kUs, 125 * kUs);
    }
  }
  Filter filter;
  filter.step = 2;
  const auto finding = findingOf(adviceOn(file, filter), "data_loading");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->gain, Duration(60 * kUs));
  EXPECT_EQ(finding->span, Duration(190 * kUs)) << "from the step's begin on the host to the end of its work";
}

// A kernel of 1 ms, and after it three calls of 500 µs that copy 1 MiB of pageable memory in 400 µs.
void addPageableCopies(const Host& host) {
  host.launch(0, 0, kMs);
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t begin = (i + 1) * kMs;
    host.trace.addCopy(host.rank.otherWork(begin, 400 * kUs, host.call(begin, 500 * kUs, "cudaMemcpyAsync")), 1 << 20,
                       1, 1, 3);
  }
}

TEST(Rules, PageableCopiesGainWhatThePinnedOnesOfTheRunReach) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    addPageableCopies(host);
    trace.addCopy(host.rank.otherWork(500 * kUs, 40 * kUs, host.call(500 * kUs, kUs, "cudaMemcpyAsync")), 1 << 20);
  }
  const Advice advice = adviceOn(file);
  // The device's idle time in the calls, and the copies ten times as fast.
  EXPECT_EQ(gainOf(advice, "memcpy_async_pageable"), 3 * (100 + 360) * kUs);
  EXPECT_EQ(gainOf(advice, "memcpy_sync"), -1);
}

TEST(Rules, HowMuchFasterPinnedMemoryWouldBeIsNotGuessed) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    addPageableCopies({trace, OneRank(trace)});
  }
  const auto finding = findingOf(adviceOn(file), "memcpy_async_pageable");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->gain, Duration(3 * (100 + 400) * kUs)) << "all of it is the bound";
  EXPECT_THAT(finding->arithmetic,
              HasSubstr("idle time inside the calls: 300 µs + less than all of 1.20 ms of copying"));
  EXPECT_THAT(finding->arithmetic, HasSubstr("cannot be said, because no copy of pinned memory"));
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
  EXPECT_EQ(gainOf(advice, "memcpy_sync"), 50 * kUs);  // the copies themselves are not lost time
  EXPECT_EQ(gainOf(advice, "memset_sync"), 20 * kUs);
}

TEST(Rules, ASizeThatWasNotRecordedIsNotCalledNoBytes) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 0, kMs);
    trace.addCopy(host.rank.otherWork(kMs, 400 * kUs, host.call(kMs, 450 * kUs, "hipMemcpy")), 0);
    trace.execute("UPDATE memory_copy SET is_async = 0");
  }
  const auto finding = findingOf(adviceOn(file), "memcpy_sync");
  ASSERT_TRUE(finding);
  EXPECT_THAT(finding->finding, HasSubstr("1 synchronous copy (of a size that was not recorded) blocked"));
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

TEST(Rules, WhatLiesOutsideTheStepsComesLastAndSaysSo) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    trace.addCopy(host.rank.otherWork(0, kMs, host.call(0, 9 * kMs, "cudaMemcpyAsync")), 1 << 20, 1, 1, 3);
    for (int64_t step = 0; step < 5; ++step) {
      const int64_t begin = (10 + step) * kMs;
      trace.addRange(host.rank.process, host.rank.thread, begin, kMs, "step");
      host.launch(begin, begin + 5 * kUs, 600 * kUs);
      trace.addRange(host.rank.process, host.rank.thread, begin + 10 * kUs, 900 * kUs, "making data");
    }
  }
  const Advice advice = adviceOn(file);
  ASSERT_TRUE(advice.steps);
  EXPECT_EQ(advice.steps->start, TimePoint(10 * kMs));
  ASSERT_GE(advice.findings.size(), 2u);
  EXPECT_FALSE(advice.findings.front().isOutsideSteps);
  EXPECT_TRUE(advice.findings.back().isOutsideSteps);
  EXPECT_TRUE(findingOf(advice, "memcpy_async_pageable")->isOutsideSteps);
  EXPECT_THAT(advice.quiet, testing::Not(testing::Contains("Asynchronous copies of pageable memory")));
  EXPECT_FALSE(findingOf(advice, "launch_bound")->isOutsideSteps);
  EXPECT_EQ(gainOf(advice, "launch_bound"), 4 * 400 * kUs);
}

TEST(Rules, GapsAndUtilization) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 0, 100 * kMs);
    host.launch(700 * kMs - 10 * kUs, 700 * kMs, 100 * kMs);
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "gpu_gaps"), 600 * kMs);
  EXPECT_THAT(findingOf(advice, "gpu_gaps")->finding,
              HasSubstr("; also \"The device is little used\": device 0 worked 25.0 % of its span"));
  EXPECT_EQ(findingOf(advice, "gpu_gaps")->where->start, TimePoint(100 * kMs));
}

TEST(Rules, WorkThatStartsLongAfterItsLaunchIsNotALateLaunch) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    host.launch(0, 0, 10 * kMs);
    host.launch(9 * kMs + 999 * kUs, 10 * kMs + kUs, 10 * kMs);
    host.launch(20 * kMs + 10 * kUs, 400 * kMs, 10 * kMs);  // for 380 ms it was launched and did not start
    host.call(20 * kMs + 50 * kUs, 379 * kMs, "hipMemcpyWithStream");
  }
  const Advice advice = adviceOn(file);
  EXPECT_EQ(gainOf(advice, "launch_bound"), -1);
  EXPECT_THAT(findingOf(advice, "gpu_time_utilization")->finding,
              HasSubstr("the largest cause of its idle time: host synchronization"));
}

// A first step that waits for its host is set-up, not what every step does.
TEST(Rules, WarmupStepsAreOutsideTheSteps) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const Host host{trace, OneRank(trace)};
    int64_t begin = 0;
    for (int64_t step = 0; step < 12; ++step) {
      const int64_t length = step == 0 ? 9 * kMs : kMs;
      trace.addRange(host.rank.process, host.rank.thread, begin, length, "step");
      host.launch(begin + kUs, begin + 5 * kUs, 100 * kUs);
      const int64_t gap = step == 0 ? 8 * kMs : 0;
      host.launch(begin + gap + 90 * kUs, begin + gap + 105 * kUs, 880 * kUs);
      begin += length;
    }
  }
  const Advice advice = adviceOn(file);
  ASSERT_TRUE(advice.steps);
  EXPECT_EQ(advice.steps->start, TimePoint(9 * kMs));
  ASSERT_TRUE(findingOf(advice, "launch_bound"));
  EXPECT_THAT(findingOf(advice, "first_steps")->finding, HasSubstr("1 of 12 steps"));
  EXPECT_FALSE(findingOf(advice, "first_steps")->isOutsideSteps);
  for (const Finding& one : advice.findings) {
    if (one.rule == "launch_bound" && !one.isOutsideSteps) EXPECT_LT(one.gain->ns(), kMs);
    if (one.rule != "launch_bound" || !one.isOutsideSteps) continue;
    EXPECT_GT(one.gain->ns(), 7 * kMs);
    EXPECT_THAT(one.finding, HasSubstr("% of its span before the steps)")) << "its gain is a share of the whole run";
  }
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

}  // namespace
}  // namespace plumb::test
