// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/analyses/timeline.h"
#include "gui/timeline/timeline_painter.h"
#include "tests/gui/fixtures.h"
#include "tests/support/trace_builder.h"

namespace plumb::test {
namespace {

using namespace plumb::timeline;

TEST(Lanes, LoseNothingAndNeverOverlap) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto slices = randomSlices(seed, 500, 10'000, 400);
    std::vector<int64_t> ids;
    for (const Lane& lane : assignLanes(slices)) {
      int64_t end = -1;
      for (const Slice& one : lane.slices) {
        EXPECT_GE(one.startNs, end);
        end = one.startNs + std::max<int64_t>(one.durationNs, 1);
        ids.push_back(one.id);
      }
    }
    std::sort(ids.begin(), ids.end());
    ASSERT_EQ(ids.size(), slices.size());
    for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], static_cast<int64_t>(i));
  }
}

TEST(Lanes, PutNestedRangesBelowWhatEnclosesThem) {
  const auto lanes = assignLanes({slice(10, 20), slice(0, 100), slice(40, 50), slice(45, 5)});
  ASSERT_EQ(lanes.size(), 3u);
  EXPECT_EQ(lanes[0].slices.size(), 1u);
  EXPECT_EQ(lanes[1].slices.size(), 2u);
  EXPECT_EQ(lanes[2].slices[0].startNs, 45);
}

TEST(Lanes, TakeManyOpenRangesWithoutQuadraticTime) {
  std::vector<Slice> open;
  for (int64_t i = 0; i < 50'000; ++i) open.push_back(slice(i, 1'000'000));
  EXPECT_EQ(assignLanes(open).size(), open.size());
}

TEST(Projection, SpansTheWorkThatARangeLaunched) {
  const std::vector<Slice> ranges{slice(0, 100, SliceKind::kRange), slice(10, 20, SliceKind::kRange),
                                  slice(200, 10, SliceKind::kRange)};
  const std::vector<Slice> calls{slice(12, 1, SliceKind::kApiCall, 1), slice(25, 1, SliceKind::kApiCall, 2),
                                 slice(50, 1, SliceKind::kApiCall, 3)};
  const std::vector<LaunchedWork> work{{1, {500, 600}}, {2, {600, 650}}, {3, {700, 900}}};
  const auto projected = projectRanges(ranges, calls, work);
  ASSERT_EQ(projected.size(), 2u);  // the third launched nothing
  EXPECT_EQ(projected[0].startNs, 500);
  EXPECT_EQ(projected[0].endNs(), 900);
  EXPECT_EQ(projected[1].endNs(), 650);
}

TEST(Timeline, HasTheTracksOfEveryRankInOrder) {
  const Folder folder;
  auto trace = Trace::open(sampleTrace(folder));
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto loaded = loadTimeline(trace.value());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Timeline& all = loaded.value();
  ASSERT_EQ(all.processes.size(), 2u);
  EXPECT_EQ(all.processes[0].rank, 0);
  std::vector<TrackKind> kinds;
  for (const Track& track : all.processes[0].tracks) kinds.push_back(track.kind);
  EXPECT_THAT(kinds,
              testing::ElementsAre(TrackKind::kSteps, TrackKind::kRanges, TrackKind::kApiCalls, TrackKind::kProjection,
                                   TrackKind::kCollectives, TrackKind::kStream, TrackKind::kStream));
  EXPECT_EQ(all.steps.size(), 6u);
  EXPECT_TRUE(all.softwareDevice);
  EXPECT_FALSE(all.communicationByName);
}

TEST(Timeline, TiesAKernelToItsLaunch) {
  const Folder folder;
  const std::string path = folder.path("trace.sqlite");
  {
    TraceBuilder builder(path);
    const int64_t process = builder.addRank(0);
    const int64_t thread = builder.addThread(process);
    const int64_t device = builder.addDevice(process);
    const int64_t stream = builder.addStream(process, device, 7);
    builder.addApiCall(process, thread, 100, 10, "cudaLaunchKernel", 5);
    builder.addKernel({process, device, stream, 200, 50, 5}, "gemm");
    builder.addKernel({process, device, stream, 300, 50, 6}, "nobody launched it");
    builder.addKernel({process, device, stream, 0, 0, 7, 1}, "no usable time");
  }
  auto trace = Trace::open(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto loaded = loadTimeline(trace.value());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Timeline& all = loaded.value();
  EXPECT_EQ(all.untimedCount, 1u);
  const auto& tracks = all.processes[0].tracks;
  ASSERT_EQ(tracks.size(), 2u);
  const SliceRef call{0, 0, 0, 0};
  const SliceRef kernel{0, 1, 0, 0};
  EXPECT_THAT(linkedSlices(all, kernel), testing::ElementsAre(call));
  EXPECT_THAT(linkedSlices(all, call), testing::ElementsAre(kernel));
  EXPECT_TRUE(linkedSlices(all, SliceRef{0, 1, 0, 1}).empty());
}

TEST(Timeline, SaysWhenANameDecidedWhatIsCommunication) {
  const Folder folder;
  const std::string path = folder.path("trace.sqlite");
  {
    TraceBuilder builder(path);
    const int64_t process = builder.addRank(0);
    const int64_t device = builder.addDevice(process);
    const int64_t stream = builder.addStream(process, device, 7);
    builder.addKernel({process, device, stream, 200, 50}, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    builder.addKernel({process, device, stream, 300, 50}, "gemm");
  }
  auto trace = Trace::open(path);
  ASSERT_TRUE(trace.ok());
  const auto loaded = loadTimeline(trace.value());
  ASSERT_TRUE(loaded.ok());
  EXPECT_TRUE(loaded.value().communicationByName);
  const auto& slices = loaded.value().processes[0].tracks[0].lanes[0].slices;
  EXPECT_EQ(slices[0].kind, SliceKind::kCommunication);
  EXPECT_EQ(slices[1].kind, SliceKind::kKernel);
}

TEST(Timeline, StopsWhenToldSo) {
  const Folder folder;
  const std::string path = folder.path("trace.sqlite");
  {
    TraceBuilder builder(path);
    const int64_t process = builder.addRank(0);
    const int64_t thread = builder.addThread(process);
    for (int64_t i = 0; i < 10'000; ++i) builder.addApiCall(process, thread, i * 10, 5, "cudaLaunchKernel", i);
  }
  auto trace = Trace::open(path);
  ASSERT_TRUE(trace.ok());
  EXPECT_FALSE(loadTimeline(trace.value(), [](double) { return false; }).ok());
}

TEST(Timeline, HasThreadsThatLaunchedNothingBelowTheStreams) {
  const Folder folder;
  const std::string path = folder.path("trace.sqlite");
  {
    TraceBuilder builder(path);
    const int64_t process = builder.addProcess({.rank = 0, .pid = 100});
    const int64_t device = builder.addDevice(process), stream = builder.addStream(process, device, 7);
    const int64_t main = builder.addThread(process, 100), watchdog = builder.addThread(process, 101, "watchdog"),
                  backward = builder.addThread(process, 102, "thread 102 (python)");
    builder.addRange(process, main, 0, 1000, "train");
    builder.addRange(process, watchdog, 0, 1000, "watch");
    builder.addApiCall(process, watchdog, 10, 5, "cudaEventQuery", 4);
    builder.addApiCall(process, backward, 100, 10, "cudaLaunchKernel", 5);
    builder.addKernel({process, device, stream, 200, 50, 5}, "gemm");
  }
  auto trace = Trace::open(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto loaded = loadTimeline(trace.value());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  std::vector<std::string> labels;
  for (const Track& track : loaded.value().processes[0].tracks) labels.push_back(track.label);
  EXPECT_THAT(labels, testing::ElementsAre("main thread · ranges", "thread 102 (python) · CUDA API", "stream 7",
                                           "watchdog (101) · ranges", "watchdog (101) · CUDA API"));
}

TEST(Timeline, NamesNoProcessIdThatTheFileDoesNotTell) {
  const Folder folder;
  const std::string path = folder.path("trace.sqlite");
  {
    TraceBuilder builder(path);
    for (const std::optional<int64_t> rank : {std::optional<int64_t>(3), std::optional<int64_t>()}) {
      const int64_t process = builder.addProcess({.rank = rank, .program = "flight recorder", .host = ""});
      builder.addRange(process, builder.addThread(process), 0, 1000, "train");
    }
    builder.execute("UPDATE process SET pid = 0");
  }
  auto trace = Trace::open(path);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto loaded = loadTimeline(trace.value());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ASSERT_EQ(loaded.value().processes.size(), 2u);
  EXPECT_EQ(loaded.value().processes[0].label, "rank 3 · flight recorder");
  EXPECT_EQ(loaded.value().processes[1].label, "flight recorder");
  const QString tip = gui::describe(loaded.value(), {1, 0, 0, 0}, 0);
  EXPECT_FALSE(tip.contains("pid 0")) << tip.toStdString();
}

TEST(Details, GiveEveryFieldAndThePayload) {
  const Folder folder;
  const std::string path = folder.path("trace.sqlite");
  int64_t range = 0;
  {
    TraceBuilder builder(path);
    const int64_t process = builder.addRank(0);
    range = builder.addRange(process, builder.addThread(process), 0, 1500, "rms_norm");
    builder.addPayload(range, "flops", int64_t{1024});
  }
  auto trace = Trace::open(path);
  ASSERT_TRUE(trace.ok());
  const auto fields = loadDetails(trace.value(), SliceKind::kRange, range);
  ASSERT_TRUE(fields.ok()) << fields.error().message;
  const auto has = [&](const char* name, const char* value) {
    return std::any_of(fields.value().begin(), fields.value().end(),
                       [&](const DetailField& f) { return f.name == name && f.value == value; });
  };
  EXPECT_TRUE(has("name", "rms_norm"));
  EXPECT_TRUE(has("duration", "1.500 µs"));
  EXPECT_TRUE(has("payload: flops", "1024"));
}

TEST(SteadyWindow, IsTheStepOfMedianLengthOfAllRanksTheFirstLeftOut) {
  Timeline timeline = timelineOf({{slice(0, 1000)}});
  timeline.steps = {{0, 0, {0, 100}},   {1, 0, {5, 100}},   {0, 1, {100, 200}}, {1, 1, {110, 210}},
                    {0, 2, {210, 510}}, {1, 2, {210, 510}}, {0, 3, {510, 550}}, {1, 3, {510, 550}}};
  const Window window = steadyWindow(timeline);
  EXPECT_LE(window.startNs, 100);
  EXPECT_GE(window.endNs, 210);
  EXPECT_GT(window.startNs, 90);
  timeline.steps.clear();
  EXPECT_EQ(steadyWindow(timeline), timeline.extent);
}

TEST(SteadyWindow, LeavesOutProcessesOnAClockOfTheirOwn) {
  Timeline timeline = timelineOf({{slice(0, 1000)}});
  timeline.steps = {{0, 0, {0, 100}}, {0, 1, {100, 200}}, {1, 0, {900'000, 900'100}}, {1, 1, {900'100, 900'200}}};
  EXPECT_EQ(steadyWindow(timeline), (Window{98, 202}));
}

}  // namespace
}  // namespace plumb::test
