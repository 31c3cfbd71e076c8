// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/idle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/host_activity.h"
#include "tests/unit/analyzer/testing.h"

namespace plumb::test {
namespace {

Duration timeOf(const DeviceIdle& idle, IdleCause cause) {
  Duration sum;
  for (const IdleGap& gap : idle.gaps) sum += gap.byCause[static_cast<size_t>(cause)];
  return sum;
}

// A kernel and the call that launched it.
void launchKernel(TraceBuilder& trace, const OneRank& rank, int64_t launchNs, int64_t startNs, int64_t durationNs,
                  bool onOtherStream = false) {
  const int64_t correlation = trace.newCorrelation();
  trace.addApiCall(rank.process, rank.thread, launchNs, 10, "cudaLaunchKernel", correlation);
  trace.addKernel(
      onOtherStream ? rank.otherWork(startNs, durationNs, correlation) : rank.work(startNs, durationNs, correlation),
      "k");
}

DeviceIdle idleOf(const std::string& path, const Filter& filter = {}) {
  Trace trace = valueOf(Trace::open(path));
  return valueOf(findIdle(trace, filter)).at(0);
}

TEST(Idle, ALateLaunchIsSplitOverWhatTheHostDid) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launchKernel(trace, rank, 0, 20, 80);                                                                  // 20-100
    trace.addApiCall(rank.process, rank.thread, 90, 40, "cudaStreamSynchronize", trace.newCorrelation());  // 90-130
    trace.addRange(rank.process, rank.thread, 130, 50, "enumerate(DataLoader)#_Iter.__next__");            // 130-180
    trace.addRange(rank.process, rank.thread, 180, 40, "forward");                                         // 180-220
    launchKernel(trace, rank, 230, 250, 50);                                                               // 250-300
  }
  const DeviceIdle idle = idleOf(file.path());
  ASSERT_EQ(idle.gaps.size(), 1u);
  EXPECT_EQ(idle.total, Duration(150));
  EXPECT_EQ(timeOf(idle, IdleCause::HostSynchronization), Duration(30 + 20));  // and from the launch to the start
  EXPECT_EQ(timeOf(idle, IdleCause::DataLoading), Duration(50));
  EXPECT_EQ(timeOf(idle, IdleCause::LaunchBound), Duration(40));  // forward
  EXPECT_EQ(timeOf(idle, IdleCause::Unknown), Duration(10));      // between forward and the launch
}

TEST(Idle, QueuedWorkWaitsForAnotherStream) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launchKernel(trace, rank, 0, 20, 80);
    launchKernel(trace, rank, 30, 110, 20, true);  // queued; after work of another stream
    launchKernel(trace, rank, 50, 150, 20, true);  // queued behind its own stream
    const int64_t wait = trace.newCorrelation();
    trace.addApiCall(rank.process, rank.thread, 65, 2, "cudaStreamWaitEvent", wait);
    trace.execute(
        "INSERT INTO synchronization(process_id, stream_id, start_ns, duration_ns, kind, correlation) VALUES(" +
        std::to_string(rank.process) + "," + std::to_string(rank.otherStream) + ",65,2,2," + std::to_string(wait) +
        ")");
    launchKernel(trace, rank, 70, 175, 20, true);  // queued behind a recorded wait
  }
  const DeviceIdle idle = idleOf(file.path());
  using Key = std::pair<IdleCause, IdleEvidence>;
  EXPECT_EQ(idle.byEvidence.at(Key(IdleCause::StreamDependency, IdleEvidence::OtherStream)).time, Duration(10));
  EXPECT_EQ(idle.byEvidence.at(Key(IdleCause::DeviceScheduling, IdleEvidence::SameStream)).time, Duration(20));
  EXPECT_EQ(idle.byEvidence.at(Key(IdleCause::StreamDependency, IdleEvidence::WaitRecord)).time, Duration(5));
}

TEST(Idle, AQueuedCollectiveWaitsForItsLastRank) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    for (int64_t r = 0; r < 2; ++r) {
      const OneRank rank(trace, r, 2);
      launchKernel(trace, rank, 0, 20, 80);
      const int64_t correlation = trace.newCorrelation(), start = r == 0 ? 200 : 150;
      trace.addApiCall(rank.process, rank.thread, 50, 5, "cudaLaunchKernelExC", correlation);
      trace.addKernel(rank.work(start, 100, correlation), "ncclDevKernel_AllReduce");
      trace.addCollective({.process = rank.process,
                           .thread = rank.thread,
                           .communicator = trace.addCommunicator(rank.process, 7, 2, r),
                           .startNs = 50,
                           .externalId = 1});
      trace.addLink(rank.process, 1, correlation);
    }
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto devices = valueOf(findIdle(trace));
  EXPECT_EQ(timeOf(devices.at(0), IdleCause::CommunicationSkew),
            Duration(50));                                                      // its peer came at 150, it began at 200
  EXPECT_EQ(timeOf(devices.at(1), IdleCause::CommunicationSkew), Duration(0));  // it began before its peer
}

TEST(Idle, WorkThatWasLaunchedLongAgoIsNotLaunchBound) {
  constexpr int64_t kUs = 1000;
  for (const bool hasWaitRecord : {false, true}) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      launchKernel(trace, rank, 0, 10 * kUs, 10 * kUs);  // 10-20 µs
      const int64_t wait = trace.newCorrelation(), launch = trace.newCorrelation();
      if (hasWaitRecord) {
        trace.execute(
            "INSERT INTO synchronization(process_id, stream_id, start_ns, duration_ns, kind, correlation) VALUES(" +
            std::to_string(rank.process) + "," + std::to_string(rank.stream) + ",25000,2,2," + std::to_string(wait) +
            ")");
      }
      trace.addApiCall(rank.process, rank.thread, 30 * kUs, 5 * kUs, "cudaLaunchKernel", launch);  // 30-35
      trace.addApiCall(rank.process, rank.thread, 200 * kUs, 400 * kUs, "cudaMemcpy", trace.newCorrelation());
      trace.addKernel(rank.work(700 * kUs, kUs, launch), "k");
    }
    const DeviceIdle idle = idleOf(file.path());
    EXPECT_EQ(timeOf(idle, IdleCause::LaunchBound), Duration((5 + 100) * kUs));    // the call and what is usual
    EXPECT_EQ(timeOf(idle, IdleCause::HostSynchronization), Duration(400 * kUs));  // the copy that blocks
    EXPECT_EQ(timeOf(idle, hasWaitRecord ? IdleCause::StreamDependency : IdleCause::DeviceScheduling),
              Duration((65 + 100) * kUs));                            // before it and after it
    EXPECT_EQ(timeOf(idle, IdleCause::Unknown), Duration(10 * kUs));  // before the launch
    EXPECT_EQ(idle.gaps.at(0).main.evidence, IdleEvidence::QueuedInWait);
    EXPECT_FALSE(idle.gaps.at(0).main.wait) << "without the wait the work would not have started earlier";
  }
}

TEST(Idle, WithoutALaunchNothingIsSaid) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    trace.addKernel(rank.work(0, 10), "a");
    trace.addKernel(rank.work(100, 10), "b");
  }
  const DeviceIdle idle = idleOf(file.path());
  EXPECT_EQ(timeOf(idle, IdleCause::Unknown), Duration(90));
  EXPECT_EQ(idle.gaps.at(0).main.evidence, IdleEvidence::NoLaunch);
}

// What the cause of each nanosecond is, by the definition and by looking at everything.
struct Call {
  int64_t start, end;
  bool blocks;
};
struct Kernel {
  int64_t start, end, launch;
  bool onOtherStream;
};

IdleCause causeAt(int64_t t, const std::vector<Kernel>& kernels, const std::vector<Call>& calls, int64_t gapStart) {
  const Kernel* next = nullptr;
  for (const Kernel& kernel : kernels) {
    if (kernel.start > t && kernel.end > kernel.start && (!next || kernel.start < next->start)) next = &kernel;
  }
  if (!next) return IdleCause::Unknown;
  if (next->launch > gapStart) {
    if (t >= next->launch) {
      const bool afterWait = std::ranges::any_of(
          calls, [&](const Call& call) { return call.blocks && call.end > gapStart && call.start < next->launch; });
      return afterWait ? IdleCause::HostSynchronization : IdleCause::LaunchBound;
    }
    bool isBusy = false;
    for (const Call& call : calls) {
      if (t < call.start || t >= call.end) continue;
      if (call.blocks) return IdleCause::HostSynchronization;
      isBusy = true;
    }
    return isBusy ? IdleCause::LaunchBound : IdleCause::Unknown;
  }
  const Kernel* before = nullptr;  // the one whose end began the gap
  for (const Kernel& kernel : kernels) {
    if (kernel.end == gapStart && kernel.end > kernel.start) before = &kernel;
  }
  return before && before->onOtherStream != next->onOtherStream ? IdleCause::StreamDependency
                                                                : IdleCause::DeviceScheduling;
}

TEST(Idle, EveryNanosecondHasTheCauseOfTheDefinition) {
  std::mt19937 random(11);
  const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
  for (int round = 0; round < 12; ++round) {
    const TraceFile file;
    std::vector<Kernel> kernels;
    std::vector<Call> calls;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      int64_t host = 0, device = 5;
      for (int i = 0; i < 12; ++i) {
        host += number(20);
        if (number(4) == 0) {
          const bool blocks = number(2) == 0;
          calls.push_back({host, host + 1 + number(15), blocks});
          trace.addApiCall(rank.process, rank.thread, host, calls.back().end - host,
                           blocks ? "cudaDeviceSynchronize" : "cudaMalloc", trace.newCorrelation());
          host = calls.back().end;
        }
        const int64_t correlation = trace.newCorrelation();
        calls.push_back({host, host + 3, false});
        trace.addApiCall(rank.process, rank.thread, host, 3, "cudaLaunchKernel", correlation);
        device = std::max(device, host) + 1 + number(12);  // distinct ends, so that one kernel begins each gap
        const Kernel kernel{device, device + 1 + number(10), host, number(2) == 0};
        trace.addKernel(kernel.onOtherStream ? rank.otherWork(kernel.start, kernel.end - kernel.start, correlation)
                                             : rank.work(kernel.start, kernel.end - kernel.start, correlation),
                        "k");
        kernels.push_back(kernel);
        device = kernel.end;
        host += 3;
      }
    }
    std::array<int64_t, kIdleCauseCount> expected{};
    int64_t gapStart = kernels.front().start;
    for (int64_t t = kernels.front().start; t < kernels.back().end; ++t) {
      const bool isBusy =
          std::ranges::any_of(kernels, [t](const Kernel& kernel) { return kernel.start <= t && t < kernel.end; });
      if (isBusy) {
        gapStart = t + 1;
      } else {
        ++expected[static_cast<size_t>(causeAt(t, kernels, calls, gapStart))];
      }
    }
    const DeviceIdle idle = idleOf(file.path());
    for (size_t cause = 0; cause < kIdleCauseCount; ++cause) {
      EXPECT_EQ(timeOf(idle, static_cast<IdleCause>(cause)), Duration(expected[cause]))
          << nameOf(static_cast<IdleCause>(cause)) << " in round " << round;
    }
  }
}

// A profiler's step is around everything: the Python call in it tells more, and an operator in that even more.
TEST(Idle, TheHostsPlaceIsTheInnermostOfRangesOperatorsAndPythonCalls) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    const auto add = [&](const char* table, const char* name, int64_t start, int64_t length) {
      trace.execute(
          fmt::format("INSERT INTO {}(process_id, thread_id, start_ns, duration_ns, name_id) VALUES({}, {}, {}, "
                      "{}, {})",
                      table, rank.process, rank.thread, start, length, trace.text(name)));
    };
    trace.addRange(rank.process, rank.thread, 0, 1000, "ProfilerStep#3");
    add("python_call", "model.py(7): forward", 100, 800);
    trace.addRange(rank.process, rank.thread, 200, 100, "block");
    add("operator", "aten::mm", 400, 100);
    add("python_call", "inspect.py(9): signature", 600, 100);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const ThreadId thread = trace.threads().front().id;
  const auto activity =
      valueOf(HostActivity::load(trace, {{thread, IntervalSet::unionOf({{TimePoint(0), TimePoint(1000)}})}}));
  std::vector<std::string> places;
  activity.forEach(thread, {TimePoint(0), TimePoint(1000)}, [&](const HostMoment& moment) {
    places.push_back(fmt::format("{} {}", moment.time.start.ns(), trace.text(moment.range)));
  });
  EXPECT_THAT(places,
              testing::ElementsAre("0 ProfilerStep#3", "100 model.py(7): forward", "200 block",
                                   "300 model.py(7): forward", "400 aten::mm", "500 model.py(7): forward",
                                   "600 inspect.py(9): signature", "700 model.py(7): forward", "900 ProfilerStep#3"));
}

// Ranges, operators, Python calls and calls, also such that do not nest.
void addRandomHostWork(TraceBuilder& trace, const OneRank& rank, int64_t thread, std::mt19937& random) {
  const auto below = [&](int n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); };
  for (int i = 0; i < 12; ++i) {
    const int64_t start = below(200), length = below(60);
    static constexpr std::array<const char*, 4> kRanges = {"forward", "load_batch", "backward", "overhead"};
    const int64_t name = trace.text(kRanges[static_cast<size_t>(below(4))]);
    const std::string values = std::to_string(rank.process) + "," + std::to_string(thread) + "," +
                               std::to_string(start) + "," + std::to_string(length) + "," + std::to_string(name);
    switch (below(4)) {
      case 0:
        trace.addRange(rank.process, thread, start, below(8) == 0 ? std::nullopt : std::optional(length), "range");
        break;
      case 1:
        trace.execute("INSERT INTO operator(process_id, thread_id, start_ns, duration_ns, name_id) VALUES(" + values +
                      ")");
        break;
      case 2:
        trace.execute("INSERT INTO python_call(process_id, thread_id, start_ns, duration_ns, name_id) VALUES(" +
                      values + ")");
        break;
      default:
        trace.addApiCall(rank.process, thread, start, length / 4, below(2) ? "cudaStreamSynchronize" : "cudaEventQuery",
                         trace.newCorrelation());
    }
  }
}

TEST(Idle, CausesAloneAreThoseOfTheGaps) {
  std::mt19937 random(7);
  for (int round = 0; round < 25; ++round) {
    const TraceFile file;
    {
      TraceBuilder trace(file.path());
      const OneRank rank(trace);
      const int64_t otherThread = trace.addThread(rank.process);
      for (int64_t device = 0, i = 0; i < 6; ++i) {
        const int64_t launch = 30 * i + static_cast<int64_t>(random() % 20), correlation = trace.newCorrelation();
        trace.addApiCall(rank.process, random() % 2 ? rank.thread : otherThread, launch, 4, "cudaLaunchKernel",
                         correlation);
        device = std::max(device, launch) + 5;
        trace.addKernel(rank.work(device, 8, correlation), "k");
        device += 8;
      }
      addRandomHostWork(trace, rank, rank.thread, random);
      addRandomHostWork(trace, rank, otherThread, random);
    }
    Trace trace = valueOf(Trace::open(file.path()));
    const auto gaps = valueOf(findIdle(trace)), causes = valueOf(findIdle(trace, {}, IdleDetail::Causes));
    ASSERT_EQ(gaps.size(), causes.size());
    ASSERT_EQ(gaps.at(0).byEvidence.size(), causes.at(0).byEvidence.size()) << "round " << round;
    for (const auto& [key, total] : gaps.at(0).byEvidence) {
      const auto same = causes.at(0).byEvidence.find(key);
      ASSERT_NE(same, causes.at(0).byEvidence.end()) << nameOf(key.first) << " in round " << round;
      EXPECT_EQ(total.time, same->second.time) << nameOf(key.first) << " in round " << round;
      EXPECT_EQ(total.gapCount, same->second.gapCount);
      EXPECT_EQ(total.largest, same->second.largest);
    }
  }
}

TEST(Idle, AWaitCountsToItsEndWhateverBeganInIt) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launchKernel(trace, rank, 0, 20, 80);                                                                  // 20-100
    trace.addApiCall(rank.process, rank.thread, 90, 40, "cudaStreamSynchronize", trace.newCorrelation());  // 90-130
    trace.addApiCall(rank.process, rank.thread, 120, 60, "cudaEventQuery", trace.newCorrelation());        // 120-180
    launchKernel(trace, rank, 180, 200, 50);
  }
  // From 100 to 130 in the wait; the launch's latency is the wait's, too.
  EXPECT_EQ(timeOf(idleOf(file.path()), IdleCause::HostSynchronization), Duration(30 + 20));
}

TEST(Idle, OfTwoOperatorsWithTheSameTimeTheLaterOneIsInside) {
  const TraceFile file;
  {
    TraceBuilder trace(file.path());
    const OneRank rank(trace);
    launchKernel(trace, rank, 0, 20, 80);
    for (const char* name : {"aten::linear", "aten::mm"}) {
      trace.execute("INSERT INTO operator(process_id, thread_id, start_ns, duration_ns, name_id) VALUES(" +
                    std::to_string(rank.process) + "," + std::to_string(rank.thread) + ",90,60," +
                    std::to_string(trace.text(name)) + ")");
    }
    launchKernel(trace, rank, 150, 170, 50);
  }
  Trace trace = valueOf(Trace::open(file.path()));
  const auto devices = valueOf(findIdle(trace));
  EXPECT_EQ(trace.text(devices.at(0).gaps.at(0).main.range), "aten::mm");
}

TEST(Idle, PartsAddUpToTheBreakdownsIdleTime) {
  const TraceFile file;
  makeSampleTrace(file.path());
  Trace trace = valueOf(Trace::open(file.path()));
  Filter step;
  step.step = 2;
  Filter time;
  time.from = TimePoint(0);
  time.to = TimePoint(30'000'000);
  for (const Filter& filter : {Filter{}, step, time}) {
    const auto devices = valueOf(findIdle(trace, filter));
    const auto breakdowns = valueOf(breakDown(trace, filter));
    ASSERT_EQ(devices.size(), breakdowns.size());
    for (size_t i = 0; i < devices.size(); ++i) {
      Duration byCause, byRange;
      for (const IdleGap& gap : devices[i].gaps) {
        for (const Duration part : gap.byCause) byCause += part;
      }
      for (const auto& [key, total] : devices[i].byRange) byRange += total.time;
      EXPECT_EQ(byCause, breakdowns[i].whole.idle);
      EXPECT_EQ(byRange, breakdowns[i].whole.idle);
    }
  }
}

}  // namespace
}  // namespace plumb::test
