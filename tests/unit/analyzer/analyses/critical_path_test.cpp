// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/critical_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "analyzer/analyses/activity_graph.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

// A graph as a recording would give it: each activity begins after what it depends on, and a lag.
struct Made {
  ActivityGraph graph;
  std::vector<std::vector<size_t>> causes;
  std::vector<int64_t> durations, lags;
};

Made makeGraph(std::mt19937& random, size_t size) {
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  Made made;
  std::vector<int64_t> ends;
  for (size_t i = 0; i < size; ++i) {
    std::vector<size_t> causes;
    int64_t ready = 0;
    for (size_t j = 0; j < i; ++j) {
      if (number(4) != 0) continue;
      causes.push_back(j);
      ready = std::max(ready, ends[j]);
    }
    made.lags.push_back(i == 0 ? 0 : number(5));
    made.durations.push_back(1 + number(20));
    const int64_t start = ready + made.lags[i];
    ends.push_back(start + made.durations[i]);
    made.graph.add(intervalOf(start, made.durations[i]));
    for (const size_t cause : causes) made.graph.depend(i, cause);
    made.causes.push_back(std::move(causes));
  }
  made.graph.finish();
  return made;
}

// The longest way to each activity's end, over every path.
int64_t longestTo(const Made& made, size_t activity, const std::vector<int64_t>& durations) {
  int64_t ready = 0;
  for (const size_t cause : made.causes[activity]) ready = std::max(ready, longestTo(made, cause, durations));
  return ready + made.lags[activity] + durations[activity];
}

TEST(ActivityGraph, TheLongestPathIsThatOfAllPaths) {
  std::mt19937 random(17);
  for (int round = 0; round < 200; ++round) {
    const Made made = makeGraph(random, 3 + static_cast<size_t>(round % 8));
    int64_t longest = 0;
    for (size_t i = 0; i < made.graph.size(); ++i) longest = std::max(longest, longestTo(made, i, made.durations));
    int64_t sum = 0;
    const auto path = made.graph.longestPath();
    for (const ActivityGraph::PathStep& step : path) {
      sum +=
          (made.graph.time(step.activity).start - step.waitStart).ns() + made.graph.time(step.activity).length().ns();
    }
    EXPECT_EQ(sum, longest);
    for (size_t i = 1; i < path.size(); ++i) {
      EXPECT_EQ(path[i].cause, path[i - 1].activity);
      EXPECT_EQ(path[i].waitStart, made.graph.time(path[i - 1].activity).end);
    }
  }
}

TEST(ActivityGraph, OtherDurationsGiveTheTimesThatWouldHaveBeen) {
  std::mt19937 random(23);
  for (int round = 0; round < 200; ++round) {
    const Made made = makeGraph(random, 3 + static_cast<size_t>(round % 8));
    std::vector<int64_t> durations = made.durations;
    for (int64_t& duration : durations) duration /= 1 + static_cast<int64_t>(random() % 3);
    int64_t longest = 0;
    for (size_t i = 0; i < made.graph.size(); ++i) longest = std::max(longest, longestTo(made, i, durations));
    EXPECT_EQ(ActivitySchedule(made.graph).wholeTime([&](size_t i) { return Duration(durations[i]); }),
              Duration(longest));
  }
}

// The device is free from 12 on, but what was launched at 10 cannot begin before 16.
TEST(ActivityGraph, WhatBeginsAfterALatencyWaitsForIt) {
  ActivityGraph graph;
  const size_t code = graph.add(intervalOf(0, 10)), before = graph.add(intervalOf(2, 10));
  const size_t work = graph.add(intervalOf(16, 4));
  graph.depend(work, before);
  graph.dependAfterLatency(work, code);
  graph.setLatency(Duration(6));
  graph.finish();
  EXPECT_EQ(graph.longestPath().back().cause, code);
  const auto whole = [&](int64_t ofCode, int64_t ofBefore) {
    return ActivitySchedule(graph).wholeTime([&](size_t i) {
      return Duration(i == code ? ofCode : i == before ? ofBefore : 4);
    });
  };
  EXPECT_EQ(whole(10, 10), Duration(20));
  EXPECT_EQ(whole(10, 0), Duration(20));
  EXPECT_EQ(whole(1, 10), Duration(16));  // then it begins when the device is free
}

TEST(ActivityGraph, WhatTheRecordingContradictsIsLeftOut) {
  ActivityGraph graph;
  const size_t late = graph.add(intervalOf(10, 20)), early = graph.add(intervalOf(0, 15));
  graph.depend(early, late);
  graph.depend(late, early);  // it ended only after the other had begun
  graph.finish();
  EXPECT_EQ(graph.longestPath().size(), 1u);
  EXPECT_EQ(ActivitySchedule(graph).wholeTime([&](size_t i) { return graph.time(i).length(); }), Duration(30));
}

void launchKernel(TraceBuilder& trace, const OneRank& rank, int64_t launchNs, int64_t startNs, int64_t durationNs,
                  const char* name) {
  const int64_t correlation = trace.newCorrelation();
  trace.addApiCall(rank.process, rank.thread, launchNs, 10, "cudaLaunchKernel", correlation);
  trace.addKernel(rank.work(startNs, durationNs, correlation), name);
}

TEST(CriticalPath, LaunchesKernelsAndAWaitByHand) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launchKernel(trace, rank, 0, 30, 100, "a");   // 30-130
    launchKernel(trace, rank, 20, 130, 50, "b");  // 130-180, behind a
    trace.addApiCall(rank.process, rank.thread, 40, 150, "cudaDeviceSynchronize", trace.newCorrelation());  // to 190
    launchKernel(trace, rank, 200, 215, 100, "c");                                                          // 215-315
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::WhatIf)).value();
  const auto time = [&](PathCategory category) { return path.byCategory[static_cast<size_t>(category)]; };
  EXPECT_EQ(path.whole, Duration(315));
  EXPECT_EQ(time(PathCategory::Compute), Duration(250));
  EXPECT_EQ(time(PathCategory::Launch), Duration(30 + 15));
  EXPECT_EQ(time(PathCategory::Host), Duration(20));  // the wait's return, and the code before the last launch
  for (const PathWhatIf& kernel : path.kernels) {
    // Everything waits for each of them; but b was launched at 20, and launching takes 15 at least, as c shows.
    EXPECT_EQ(kernel.savedFree, kernel.total - Duration(kernel.name == "a" ? 5 : 0)) << kernel.name;
    EXPECT_EQ(kernel.savedTwiceAsFast, Duration(kernel.total.ns() / 2)) << kernel.name;
  }
}

// All is launched at once; the second stream's kernel begins when the first stream's has ended, and no profiler that
// leaves waits for events out says why.
TEST(CriticalPath, LeadsThroughAnotherStreamWithoutARecordedWait) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launchKernel(trace, rank, 0, 10'000, 500'000, "gemm");
    const int64_t correlation = trace.newCorrelation();
    trace.addApiCall(rank.process, rank.thread, 5'000, 10, "cudaLaunchKernel", correlation);
    trace.addKernel(rank.otherWork(515'000, 100'000, correlation), "after");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::WhatIf)).value();
  EXPECT_EQ(path.byCategory[static_cast<size_t>(PathCategory::Compute)], Duration(600'000));
  EXPECT_EQ(path.byCategory[static_cast<size_t>(PathCategory::Launch)], Duration(10'000 + 5'000));
}

TEST(CriticalPath, LeadsThroughTheRankThatCameLast) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (int64_t r = 0; r < 2; ++r) {
      const OneRank rank(trace, r, 2);
      launchKernel(trace, rank, 0, 20, r == 0 ? 100 : 400, r == 0 ? "quick" : "slow");
      const int64_t correlation = trace.newCorrelation(), start = r == 0 ? 120 : 420;
      trace.addApiCall(rank.process, rank.thread, 15, 5, "cudaLaunchKernelExC", correlation);
      trace.addKernel(rank.work(start, 500 - start, correlation), "ncclDevKernel_AllReduce");
      trace.addCollective({.process = rank.process,
                           .thread = rank.thread,
                           .communicator = trace.addCommunicator(rank.process, 7, 2, r),
                           .startNs = 15,
                           .externalId = 1});
      trace.addLink(rank.process, 1, correlation);
      if (r == 0) launchKernel(trace, rank, 50, 500, 100, "after");
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::WhatIf)).value();
  const auto time = [&](PathCategory category) { return path.byCategory[static_cast<size_t>(category)]; };
  EXPECT_EQ(path.whole, Duration(600));
  EXPECT_EQ(time(PathCategory::Communication), Duration(80));  // the transfer only
  EXPECT_EQ(time(PathCategory::Compute), Duration(500));       // slow and after
  EXPECT_EQ(path.exposedCommunication, Duration(380 + 80));
  EXPECT_EQ(path.exposedCommunicationOnPath, Duration(80));
  for (const PathWhatIf& kernel : path.kernels) {
    if (kernel.name == "slow") {
      EXPECT_EQ(kernel.savedFree, Duration(300)) << "then the other rank is the last";
    }
    if (kernel.name == "quick") {
      EXPECT_EQ(kernel.savedFree, Duration());
    }
  }
}

TEST(CriticalPath, PartsAddUp) {
  const TraceFile file;
  makeSampleTrace(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  Filter step;
  step.step = 2;
  for (const Filter& filter : {Filter{}, step}) {
    const CriticalPath path = valueOf(findCriticalPath(trace, filter, PathDetail::Segments)).value();
    const Duration sum = std::accumulate(path.byCategory.begin(), path.byCategory.end(), Duration());
    EXPECT_EQ(sum, path.whole);
    Duration segments;
    for (const PathSegment& segment : path.segments) segments += segment.time.length();
    EXPECT_EQ(segments, path.whole);
    const CriticalPath shares = valueOf(findCriticalPath(trace, filter, PathDetail::Shares)).value();
    EXPECT_EQ(shares.byCategory, path.byCategory);
    EXPECT_EQ(shares.exposedCommunicationOnPath, path.exposedCommunicationOnPath);
    EXPECT_LE(path.exposedCommunicationOnPath, path.exposedCommunication);
  }
}

TEST(CriticalPath, OfRangesWithTheSameTimesTheInnerOneIsNamed) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addRange(rank.process, rank.thread, 10, 80, "item");
    trace.addRange(rank.process, rank.thread, 10, 80, "local_scalar");  // called by it
    trace.addApiCall(rank.process, rank.thread, 0, 5, "cudaMalloc", trace.newCorrelation());
    trace.addApiCall(rank.process, rank.thread, 95, 5, "cudaFree", trace.newCorrelation());
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::Segments)).value();
  const auto inner = std::ranges::find(path.segments, "local_scalar", &PathSegment::name);
  ASSERT_NE(inner, path.segments.end());
  EXPECT_EQ(inner->time.length(), Duration(80));
}

// Ranges that load data make host time data loading, whatever else nests in them.
TEST(CriticalPath, DataLoadingIsToldWithAndWithoutSegments) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addApiCall(rank.process, rank.thread, 0, 10, "cudaMalloc", trace.newCorrelation());
    trace.addRange(rank.process, rank.thread, 20, 50, "dataloader");
    trace.addRange(rank.process, rank.thread, 30, 10, "decode");
    trace.addApiCall(rank.process, rank.thread, 60, 40, "cudaMalloc", trace.newCorrelation());
  }
  Trace trace = valueOf(Trace::open(file.path()));
  for (const PathDetail detail : {PathDetail::Shares, PathDetail::Segments}) {
    const CriticalPath path = valueOf(findCriticalPath(trace, {}, detail)).value();
    EXPECT_EQ(path.byCategory[static_cast<size_t>(PathCategory::DataLoading)], Duration(50));
    EXPECT_EQ(path.byCategory[static_cast<size_t>(PathCategory::Host)], Duration(50));
  }
}

// Another thread polls long after the last kernel; what it polls for is no end of the run.
TEST(CriticalPath, CallsThatOnlyAskAreNoWorkAndNoEnd) {
  for (const char* question : {"cudaEventQuery", "hipStreamQuery", "cuEventQuery"}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      const int64_t watchdog = trace.addThread(rank.process);
      launchKernel(trace, rank, 0, 30, 100, "a");
      for (int64_t at = 0; at < 10'000; at += 1'000) {
        trace.addApiCall(rank.process, watchdog, at, 5, question, trace.newCorrelation());
      }
    }
    Trace trace = valueOf(Trace::open(file.path()));
    const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::Shares)).value();
    EXPECT_EQ(path.whole, Duration(130)) << question;
    EXPECT_EQ(path.byCategory[static_cast<size_t>(PathCategory::Compute)], Duration(100)) << question;
  }
}

void addOperator(TraceBuilder& trace, const OneRank& rank, int64_t thread, int64_t startNs, int64_t durationNs,
                 const char* name) {
  trace.execute("INSERT INTO operator(process_id, thread_id, start_ns, duration_ns, name_id) VALUES(" +
                std::to_string(rank.process) + "," + std::to_string(thread) + "," + std::to_string(startNs) + "," +
                std::to_string(durationNs) + "," + std::to_string(trace.text(name)) + ")");
}

// Steps as torch makes them: the main thread loads data and computes the forward pass, the thread of the backward pass
// goes on, and the main thread waits for it. Times in us.
void addTrainingStep(TraceBuilder& trace, const OneRank& rank, int64_t backward, int64_t at) {
  const auto us = [&](int64_t t) { return (at + t) * 1'000; };
  const auto call = [&](int64_t thread, int64_t start) {
    trace.addApiCall(rank.process, thread, us(start), 10'000, "cudaMemsetAsync", trace.newCorrelation());
  };
  trace.addRange(rank.process, rank.thread, us(0), 3'000'000, "dataloader");
  addOperator(trace, rank, rank.thread, us(3'000), 1'000'000, "forward");
  call(rank.thread, 3'100);
  call(rank.thread, 3'980);
  addOperator(trace, rank, backward, us(4'100), 2'000'000, "backward");
  call(backward, 4'200);
  call(backward, 6'000);
  addOperator(trace, rank, rank.thread, us(6'200), 500'000, "optimizer");
  call(rank.thread, 6'300);
}

TEST(CriticalPath, LeadsThroughTheThreadThatAPausedOneWaitedFor) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t backward = trace.addThread(rank.process);
    addTrainingStep(trace, rank, backward, 0);
    addTrainingStep(trace, rank, backward, 7'000);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::Segments)).value();
  const auto timeIn = [&](std::string_view name) {
    Duration sum;
    for (const PathSegment& segment : path.segments) sum += segment.name == name ? segment.time.length() : Duration();
    return sum;
  };
  EXPECT_EQ(path.whole, Duration(7'000'000 + 6'700'000));  // what the host did before and after its calls counts
  EXPECT_EQ(path.byCategory[static_cast<size_t>(PathCategory::DataLoading)], Duration(2 * 3'000'000));
  EXPECT_EQ(timeIn("forward"), Duration(2 * 990'000));
  EXPECT_EQ(timeIn("backward"), Duration(2 * 1'910'000));
  EXPECT_EQ(timeIn("optimizer"), Duration(2 * 500'000));
  const CriticalPath shares = valueOf(findCriticalPath(trace, {}, PathDetail::Shares)).value();
  EXPECT_EQ(shares.byCategory, path.byCategory);
}

// What a thread does without operators is not known, nor whether it waits for one that went silent long ago.
TEST(CriticalPath, WithoutASignThatAThreadWaitedItDidNot) {
  for (const bool hasOperators : {false, true}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      const int64_t other = trace.addThread(rank.process);
      const auto call = [&](int64_t thread, int64_t us) {
        trace.addApiCall(rank.process, thread, us * 1'000, 10'000, "cudaMalloc", trace.newCorrelation());
        if (hasOperators) addOperator(trace, rank, thread, us * 1'000, 10'000, thread == other ? "theirs" : "mine");
      };
      call(rank.thread, 0);
      call(other, hasOperators ? 100 : 900);  // early or late in the pause
      call(rank.thread, 1'000);
    }
    Trace trace = valueOf(Trace::open(file.path()));
    const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::Segments)).value();
    EXPECT_EQ(path.whole, Duration(1'010'000));
    EXPECT_EQ(std::ranges::count(path.segments, "theirs", &PathSegment::name), 0);
    EXPECT_EQ(path.segments.front().name, hasOperators ? "mine" : "cudaMalloc");
  }
}

TEST(CriticalPath, NothingRecordedHasNone) {
  const TraceFile file;
  TraceBuilder(file.path()).finish();
  Trace trace = valueOf(Trace::open(file.path()));
  EXPECT_FALSE(valueOf(findCriticalPath(trace, {}, PathDetail::Shares)));
}

}  // namespace
}  // namespace plumb::test
