// SPDX-License-Identifier: Apache-2.0
// The critical path where a recording leaves something open: clocks of several hosts, collectives without records, work
// that begins late for no recorded reason, threads without operators.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analyzer/analyses/critical_path.h"
#include "analyzer/analyses/launch_times.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

Duration timeOf(const CriticalPath& path, PathCategory category) {
  return path.byCategory[static_cast<size_t>(category)];
}

const PathWhatIf& kernelOf(const CriticalPath& path, std::string_view name) {
  return *std::ranges::find(path.kernels, name, &PathWhatIf::name);
}

int64_t launch(TraceBuilder& trace, const TraceBuilder::Work& work, int64_t thread, int64_t at, int64_t callNs,
               const char* name) {
  TraceBuilder::Work mine = work;
  mine.correlation = trace.newCorrelation();
  trace.addApiCall(work.process, thread, at, callNs, "cudaLaunchKernel", mine.correlation);
  trace.addKernel(mine, name);
  return mine.correlation;
}

void addNamed(TraceBuilder& trace, const char* table, int64_t process, int64_t thread, int64_t at, int64_t durationNs,
              const char* name) {
  const std::string more = std::string(table) == "os_call" ? ", result" : "";
  trace.execute("INSERT INTO " + std::string(table) + "(process_id, thread_id, start_ns, duration_ns, name_id" + more +
                ") VALUES(" + std::to_string(process) + "," + std::to_string(thread) + "," + std::to_string(at) + "," +
                std::to_string(durationNs) + "," + std::to_string(trace.text(name)) + (more.empty() ? ")" : ",0)"));
}

// Steps of two ranks: one computes for long, then both reduce, in turns. Times in us.
struct RunOf {
  std::string secondHost = "a";
  int64_t offsetUs = 0;    // of the second rank's clock
  bool hasRecords = true;  // of the collectives
  bool hasCollectives = true;
};

void makeRun(const std::string& file, const RunOf& run) {
  constexpr int64_t kSteps = 10;
  TraceBuilder trace(file);
  for (int64_t rank = 0; rank < 2; ++rank) {
    const int64_t process =
        trace.addProcess({.rank = rank, .worldSize = 2, .host = rank == 0 ? std::string("a") : run.secondHost});
    const int64_t thread = trace.addThread(process), device = trace.addDevice(process);
    const int64_t stream = trace.addStream(process, device, 7),
                  communicator = trace.addCommunicator(process, 3, 2, rank);
    const auto us = [&](int64_t t) { return (t + (rank == 1 ? run.offsetUs : 0) + 10'000) * 1'000; };
    for (int64_t step = 0; step < kSteps; ++step) {
      const bool isSlow = step % 2 == rank;
      const int64_t at = step * 1'000, computing = isSlow ? 600 : 100, came = at + 20 + computing;
      launch(trace, {process, device, stream, us(at + 20), computing * 1'000, 0, 0}, thread, us(at), 5'000,
             isSlow ? "slow" : "quick");
      if (run.hasCollectives) {
        const int64_t correlation = launch(trace, {process, device, stream, us(came), (at + 720 - came) * 1'000, 0, 0},
                                           thread, us(at + 10), 5'000, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
        if (run.hasRecords) {
          trace.addCollective({.process = process,
                               .thread = thread,
                               .communicator = communicator,
                               .startNs = us(at + 10),
                               .sequence = step,
                               .externalId = step + 1});
          trace.addLink(process, step + 1, correlation);
        }
      }
      trace.addApiCall(process, thread, us(at + 30), (run.hasCollectives ? 700 : computing) * 1'000,
                       "cudaDeviceSynchronize", trace.newCorrelation());
    }
  }
}

CriticalPath pathOf(const RunOf& run, const Filter& filter = {}, PathDetail detail = PathDetail::WhatIf) {
  const TraceFile file;
  makeRun(file.path(), run);
  Trace trace = valueOf(Trace::open(file.path()));
  return valueOf(findCriticalPath(trace, filter, detail)).value();
}

TEST(CriticalPathOfRanks, ClocksOfHostsThatAreApartMakeNoDifference) {
  const CriticalPath expected = pathOf({});
  EXPECT_EQ(timeOf(expected, PathCategory::Compute), Duration(10 * 600'000));
  EXPECT_EQ(timeOf(expected, PathCategory::Communication), Duration(10 * 100'000));
  EXPECT_TRUE(expected.clocks.empty());
  for (const int64_t offsetUs : {50'000'000, -5'000}) {
    const CriticalPath path = pathOf({.secondHost = "b", .offsetUs = offsetUs});
    EXPECT_EQ(path.byCategory, expected.byCategory) << offsetUs;
    EXPECT_EQ(path.whole, expected.whole);
    EXPECT_EQ(path.exposedCommunicationOnPath, expected.exposedCommunicationOnPath);
    EXPECT_EQ(kernelOf(path, "slow").savedTwiceAsFast, kernelOf(expected, "slow").savedTwiceAsFast);
    EXPECT_EQ(kernelOf(path, "quick").savedFree, Duration());
    ASSERT_EQ(path.clocks.size(), 1u);
    EXPECT_NE(path.clocks[0].find("critical path"), std::string::npos) << path.clocks[0];
  }
}

TEST(CriticalPathOfRanks, SegmentsHaveTheTimesOfTheirOwnClocks) {
  const CriticalPath path = pathOf({.secondHost = "b", .offsetUs = 50'000'000}, {}, PathDetail::Segments);
  int64_t steps = 0;
  for (const PathSegment& segment : path.segments) {
    if (segment.category != PathCategory::Compute) continue;
    const bool isOfSecond = steps++ % 2 == 1;
    EXPECT_EQ(segment.time.start > TimePoint(50'000'000'000), isOfSecond) << segment.time.start.ns();
  }
  EXPECT_EQ(steps, 10);
}

// Nothing tells how far the second host's clock is off: to compare times would be to make them up.
TEST(CriticalPathOfRanks, AHostWhoseClockCannotBeComparedIsLeftOutAndSaidSo) {
  const RunOf apart{.secondHost = "b", .offsetUs = 50'000'000, .hasCollectives = false};
  const CriticalPath path = pathOf(apart, {}, PathDetail::Segments);
  EXPECT_LT(path.whole, Duration(20'000'000));
  ASSERT_EQ(path.clocks.size(), 1u);
  EXPECT_NE(path.clocks[0].find("cannot be said"), std::string::npos) << path.clocks[0];
  EXPECT_NE(path.clocks[0].find("--rank"), std::string::npos) << path.clocks[0];
  Filter second;
  second.rank = 1;
  EXPECT_GT(pathOf(apart, second).whole, Duration());
}

// Their ranks are all in one collective at once, so that the last to arrive is who the others wait for.
TEST(CriticalPathOfRanks, CollectivesWithoutRecordsAreBroughtTogetherByTheirNames) {
  const CriticalPath expected = pathOf({}), path = pathOf({.hasRecords = false});
  EXPECT_EQ(path.byCategory, expected.byCategory);
  EXPECT_EQ(expected.kernelsByName, 0);
  EXPECT_EQ(path.kernelsByName, 10);
  EXPECT_EQ(path.withoutPeers, Duration());
}

TEST(CriticalPathOfRanks, OfOneRankAloneItCannotBeSaidHowMuchCommunicationIsWaiting) {
  Filter first;
  first.rank = 0;
  const CriticalPath path = pathOf({}, first);
  EXPECT_EQ(path.withoutPeers, timeOf(path, PathCategory::Communication));
  EXPECT_GT(path.withoutPeers, Duration(10 * 100'000));
}

TEST(CriticalPathOfRanks, WhatWasBeforeALaterRecordingIsUnknown) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (int64_t rank = 0; rank < 2; ++rank) {
      const OneRank one(trace, rank, 2);
      const int64_t begin = rank * 5'000'000;
      launch(trace, one.work(begin + 10'000, 100'000), one.thread, begin, 5'000, "kernel");
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::Segments)).value();
  EXPECT_EQ(timeOf(path, PathCategory::Unknown), Duration(5'000'000));
  EXPECT_EQ(timeOf(path, PathCategory::Host), Duration());
}

TEST(CriticalPathOfOneRank, WorkThatBeginsLateForNoRecordedReasonIsUnknown) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launch(trace, rank.work(10'000, 50'000), rank.thread, 0, 5'000, "before");
    launch(trace, rank.work(4'000'000, 50'000), rank.thread, 20'000, 5'000, "late");
    launch(trace, rank.work(9'000'000, 50'000), rank.thread, 5'000'000, 3'990'000, "slowly_launched");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::Segments)).value();
  // To the end of the path its last work was launched after a pause of the host; the late one stands beside it.
  EXPECT_EQ(timeOf(path, PathCategory::Unknown), Duration());
  EXPECT_EQ(timeOf(path, PathCategory::Launch), Duration(4'000'000));  // in the call: it is the launch that takes long

  Filter until;
  until.to = TimePoint(4'500'000);
  const CriticalPath cut = valueOf(findCriticalPath(trace, until, PathDetail::Shares)).value();
  EXPECT_EQ(timeOf(cut, PathCategory::Launch), Duration(10'000 + 100'000));
  EXPECT_EQ(timeOf(cut, PathCategory::Unknown), Duration(4'000'000 - 60'000 - 100'000));
}

// A host that runs ahead waits for room in the queue, and no longer does so when kernels are faster.
TEST(CriticalPathOfOneRank, ALaunchIntoAFullQueueWaitsForTheDevice) {
  constexpr int64_t kCount = 2 * kQueueCapacity, kKernel = 40'000, kCall = 5'000;
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    int64_t at = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      const int64_t room = i < kQueueCapacity ? 0 : kCall + (i - kQueueCapacity) * kKernel + 1'000;
      const int64_t end = std::max(at + kCall, room);
      launch(trace, rank.work(kCall + i * kKernel, kKernel), rank.thread, at, end - at, "gemm");
      at = end;
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::WhatIf)).value();
  EXPECT_EQ(timeOf(path, PathCategory::Compute), Duration(kCount * kKernel));
  // Then the host's own calls are left.
  const int64_t saved = kernelOf(path, "gemm").savedFree.ns();
  EXPECT_GT(saved, kCount * kKernel - kCount * 2 * kCall);
  EXPECT_LT(saved, kCount * kKernel - kQueueCapacity * kCall);
}

// Another stream's kernel ends just before the wait returns; the record says for which the thread waited.
TEST(CriticalPathOfOneRank, AWaitForAnEventLeadsToTheWorkItWasRecordedBehind) {
  for (const bool isRecorded : {false, true}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      launch(trace, rank.work(20'000, 100'000), rank.thread, 0, 5'000, "awaited");
      const int64_t record = trace.newCorrelation(), wait = trace.newCorrelation();
      trace.addApiCall(rank.process, rank.thread, 6'000, 1'000, "cudaEventRecord", record);
      launch(trace, rank.otherWork(30'000, 92'000), rank.thread, 8'000, 5'000, "beside");
      trace.addApiCall(rank.process, rank.thread, 15'000, 110'000, "cudaEventSynchronize", wait);
      launch(trace, rank.work(140'000, 10'000), rank.thread, 130'000, 5'000, "after");
      if (isRecorded) {
        trace.execute(
            "INSERT INTO synchronization(id, process_id, start_ns, duration_ns, kind, correlation) VALUES(1," +
            std::to_string(rank.process) + ",15000,110000,1," + std::to_string(wait) + ")");
        trace.execute("INSERT INTO synchronization_event VALUES(1," + std::to_string(rank.stream) + "," +
                      std::to_string(record) + ")");
      }
    }
    Trace trace = valueOf(Trace::open(file.path()));
    const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::WhatIf)).value();
    EXPECT_EQ(kernelOf(path, "awaited").countOnPath, isRecorded ? 1 : 0);
    EXPECT_EQ(kernelOf(path, "beside").countOnPath, isRecorded ? 0 : 1);
  }
}

// It returned with the last of two streams; were that one faster, the other would hold it.
TEST(CriticalPathOfOneRank, AWaitForTheDeviceWaitsForAllItsStreams) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launch(trace, rank.work(10'000, 200'000), rank.thread, 0, 5'000, "last");
    launch(trace, rank.otherWork(15'000, 175'000), rank.thread, 5'000, 5'000, "nearly_last");
    trace.addApiCall(rank.process, rank.thread, 12'000, 202'000, "cudaDeviceSynchronize", trace.newCorrelation());
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::WhatIf)).value();
  EXPECT_EQ(kernelOf(path, "last").savedFree, Duration(20'000));
}

// A graph's kernels overlap on the stream they are shown on; what follows waits for the last of them.
TEST(CriticalPathOfOneRank, OverlappingWorkOfOneStreamIsWaitedForByWhatFollows) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t correlation = trace.newCorrelation();
    trace.addApiCall(rank.process, rank.thread, 0, 5'000, "cudaGraphLaunch", correlation);
    trace.addKernel(rank.work(10'000, 90'000, correlation), "long");
    trace.addKernel(rank.work(20'000, 10'000, correlation), "short");
    trace.addKernel(rank.work(101'000, 50'000, correlation), "after");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::WhatIf)).value();
  EXPECT_EQ(timeOf(path, PathCategory::Compute), Duration(90'000 + 50'000));
  EXPECT_EQ(timeOf(path, PathCategory::Launch), Duration(10'000 + 1'000));
}

// A worker prepares the data and makes calls meanwhile; the step waits in its loader.
TEST(CriticalPathOfOneRank, AStepThatWaitsInItsLoaderIsLoadingWhoeverWorksMeanwhile) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const int64_t worker = trace.addThread(rank.process);
    for (int64_t at = 0; at < 50'000'000; at += 10'000'000) {
      trace.addRange(rank.process, rank.thread, at, 8'000'000, "enumerate(DataLoader)#__next__");
      trace.addApiCall(rank.process, worker, at + 7'000'000, 900'000, "cudaHostAlloc", trace.newCorrelation());
      addNamed(trace, "operator", rank.process, rank.thread, at + 8'000'000, 1'000'000, "aten::mm");
      launch(trace, rank.work(at + 8'600'000, 500'000), rank.thread, at + 8'500'000, 5'000, "gemm");
      trace.addApiCall(rank.process, rank.thread, at + 9'000'000, 110'000, "cudaDeviceSynchronize",
                       trace.newCorrelation());
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::Shares)).value();
  EXPECT_EQ(timeOf(path, PathCategory::DataLoading), Duration(5 * 8'000'000));
  EXPECT_EQ(timeOf(path, PathCategory::Compute), Duration(5 * 500'000));
}

TEST(CriticalPathOfOneRank, OfAThreadWithoutOperatorsItIsSaidWhatIsKnown) {
  const TraceFile file;
  int64_t thread = 0;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    thread = trace.addThread(rank.process, 77, "worker");
    const auto call = [&](int64_t us, const char* name) {
      trace.addApiCall(rank.process, thread, us * 1'000, 10'000, name, trace.newCorrelation());
    };
    call(0, "cudaMalloc");
    trace.addRange(rank.process, thread, 20'000, 60'000, "range");
    addNamed(trace, "python_call", rank.process, thread, 30'000, 40'000, "read.py(3): read");
    addNamed(trace, "os_call", rank.process, thread, 40'000, 10'000, "read");  // inside of both
    addNamed(trace, "os_call", rank.process, thread, 90'000, 30'000, "poll");
    call(150, "cudaFree");
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const CriticalPath path = valueOf(findCriticalPath(trace, {}, PathDetail::Segments)).value();
  const auto timeIn = [&](std::string_view name) {
    Duration sum;
    for (const PathSegment& segment : path.segments) {
      EXPECT_EQ(segment.thread.value(), thread);
      sum += segment.name == name ? segment.time.length() : Duration();
    }
    return sum;
  };
  EXPECT_EQ(timeIn("cudaMalloc"), Duration(10'000));
  EXPECT_EQ(timeIn("range"), Duration(20'000));
  EXPECT_EQ(timeIn("read.py(3): read"), Duration(40'000));
  EXPECT_EQ(timeIn("poll"), Duration(30'000));
  EXPECT_EQ(timeIn("read"), Duration());
  EXPECT_EQ(timeIn(""), Duration(50'000));
}

}  // namespace
}  // namespace plumb::test
