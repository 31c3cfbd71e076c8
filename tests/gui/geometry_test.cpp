// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "gui/timeline/time_scale.h"
#include "gui/timeline/timeline_painter.h"
#include "gui/timeline/track_layout.h"
#include "gui/timeline/visible_runs.h"
#include "tests/gui/fixtures.h"

namespace plumb::test {
namespace {

using namespace plumb::gui;

const TimeSpan kHour{0, 3.6e12};

TEST(TimeScale, PixelAndTimeAreInverse) {
  const TimeScale scale({1e9, 1e9 + 250}, 1600);
  for (const double x : {0.0, 1.0, 799.5, 1600.0}) EXPECT_NEAR(scale.toPixel(scale.toNs(x)), x, 1e-4);
  EXPECT_DOUBLE_EQ(scale.toNs(0), 1e9);
  EXPECT_DOUBLE_EQ(scale.toNs(1600), 1e9 + 250);
}

TEST(Zoom, KeepsTheInstantUnderTheCursor) {
  const TimeSpan before{1e9, 2e9};
  const double anchor = 1.3e9;
  for (const double factor : {0.1, 0.8, 1.25, 3.0}) {
    const TimeSpan after = zoomed(before, factor, anchor, kHour);
    EXPECT_NEAR(TimeScale(after, 1000).toPixel(anchor), TimeScale(before, 1000).toPixel(anchor), 1e-6);
    EXPECT_NEAR(after.length(), before.length() * factor, 1);
  }
}

TEST(Zoom, StaysWithinTheRecording) {
  EXPECT_EQ(zoomed({10, 1000}, 1e9, 500, {0, 2000}), (TimeSpan{0, 2000}));
  EXPECT_NEAR(zoomed({10, 1000}, 1e-9, 500, {0, 2000}).length(), kShortestSpanNs, 1e-9);
  EXPECT_EQ(panned({10, 1000}, -1e12, {0, 2000}), (TimeSpan{0, 990}));
  EXPECT_EQ(panned({10, 1000}, 1e12, {0, 2000}), (TimeSpan{1010, 2000}));
}

TEST(Ticks, AreRoundAndSayTheirUnit) {
  const auto marks = ticks(TimeScale({0, 50e6}, 1000), 0, 100);
  ASSERT_EQ(marks.size(), 11u);
  EXPECT_EQ(marks[1].label, "5 ms");
  EXPECT_DOUBLE_EQ(marks[1].ns, 5e6);
}

TEST(Ticks, KeepReadableFarFromTheOrigin) {
  const auto marks = ticks(TimeScale({1.521e9, 1.521e9 + 4000}, 1000), 0, 100);
  ASSERT_GE(marks.size(), 2u);
  EXPECT_EQ(marks[1].label, "1521.0005 ms");
  EXPECT_NE(marks[0].label, marks[1].label);
}

TEST(Format, GivesThreeDigitsAndAUnit) {
  EXPECT_EQ(formatDuration(0), "0 ns");
  EXPECT_EQ(formatDuration(1534), "1.53 µs");
  EXPECT_EQ(formatDuration(2.5e9), "2.5 s");
  EXPECT_EQ(formatBytes(1023), "1023 B");
  EXPECT_EQ(formatBytes(1.5 * 1024 * 1024), "1.5 MiB");
  EXPECT_EQ(formatSi(989e12), "989 T");
}

// The pixels that some slice touches, found the plain way.
std::vector<bool> touchedPixels(const timeline::Lane& lane, const TimeScale& scale, int width) {
  std::vector<bool> touched(static_cast<size_t>(width), false);
  for (const timeline::Slice& one : lane.slices) {
    const PixelSpan span = pixelSpan(one, scale);
    for (double x = std::max(0.0, span.x0); x < std::min<double>(span.x1, width); ++x)
      touched[static_cast<size_t>(x)] = true;
  }
  return touched;
}

TEST(VisibleRuns, CoverAPixelExactlyIfASliceTouchesIt) {
  std::mt19937_64 random(7);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const int64_t span = int64_t{1} << (8 + seed % 20);
    const auto lanes =
        timeline::assignLanes(randomSlices(seed, 300, span, 1 + span / (1 + static_cast<int64_t>(seed) * 3)));
    std::uniform_real_distribution<double> at(-0.1 * static_cast<double>(span), static_cast<double>(span));
    const double start = at(random);
    const TimeScale scale(
        {start, start + std::max(30.0, static_cast<double>(span) / (1 + static_cast<double>(seed % 7)))}, 317);
    for (const timeline::Lane& lane : lanes) {
      std::vector<bool> painted(317, false);
      size_t slices = 0;
      for (const auto& run : visibleRuns(lane, scale, 317)) {
        EXPECT_LT(run.x0, run.x1);
        EXPECT_GE(run.coverage, 0);
        EXPECT_LE(run.coverage, 1);
        slices += run.count;
        for (int x = run.x0; x < run.x1; ++x) painted[static_cast<size_t>(x)] = true;
      }
      EXPECT_EQ(painted, touchedPixels(lane, scale, 317)) << "seed " << seed;
      EXPECT_LE(slices, lane.slices.size());
    }
  }
}

TEST(VisibleRuns, AreAtMostTwoAPixelHoweverManySlices) {
  std::vector<timeline::Slice> dense;
  for (int64_t i = 0; i < 200'000; ++i) dense.push_back(slice(i * 10, 5));
  const auto lanes = timeline::assignLanes(dense);
  ASSERT_EQ(lanes.size(), 1u);
  const auto runs = visibleRuns(lanes[0], TimeScale({0, 2e6}, 500), 500);
  EXPECT_LE(runs.size(), 1000u);
  size_t count = 0;
  for (const auto& run : runs) {
    count += run.count;
    EXPECT_NEAR(run.coverage, 0.5, 0.02);
  }
  EXPECT_EQ(count, dense.size());
}

TEST(SliceAt, FindsWhatIsPaintedThere) {
  const auto lanes = timeline::assignLanes({slice(0, 100), slice(200, 0), slice(300, 50)});
  const TimeScale scale({0, 400}, 400);
  EXPECT_EQ(sliceAt(lanes[0], scale, 50, 0), 0);
  EXPECT_EQ(sliceAt(lanes[0], scale, 150, 2), -1);
  EXPECT_EQ(sliceAt(lanes[0], scale, 200.5, 0), 1);  // a mark is one pixel wide
  EXPECT_EQ(sliceAt(lanes[0], scale, 352, 3), 2);    // just beside counts
}

TEST(TrackLayout, StacksRowsAndFindsThem) {
  const auto timeline = timelineOf({{slice(0, 10), slice(5, 10)}, {slice(0, 10)}});
  const LayoutMetrics metrics;
  const TrackLayout layout(timeline, metrics, {});
  ASSERT_EQ(layout.rows().size(), 3u);
  const Row& first = layout.rows()[1];
  EXPECT_DOUBLE_EQ(first.height, 2 * metrics.laneHeight);  // overlapping kernels lie in two lanes
  EXPECT_EQ(layout.rowAt(first.y + 1), &first);
  EXPECT_EQ(layout.rowAt(first.y - 1), nullptr);  // the gap above
  EXPECT_EQ(layout.laneAt(first, first.y + metrics.laneHeight + 1, 2), 1u);
  EXPECT_EQ(layout.rowAt(layout.height() + 5), nullptr);
}

TEST(TrackLayout, FoldsTracksAndProcesses) {
  const auto timeline = timelineOf({{slice(0, 10), slice(5, 10)}, {slice(0, 10)}});
  const LayoutMetrics metrics;
  const TrackLayout thin(timeline, metrics, {{}, {{0, 0}}});
  EXPECT_DOUBLE_EQ(thin.trackRow(0, 0)->height, metrics.collapsedHeight);
  const TrackLayout folded(timeline, metrics, {{0}, {}});
  EXPECT_EQ(folded.rows().size(), 1u);
  EXPECT_EQ(folded.trackRow(0, 0), nullptr);
}

TEST(TimelineScene, HitsTheSliceWhoseRectangleItGives) {
  const auto timeline = timelineOf({{slice(0, 100), slice(50, 100), slice(400, 30)}});
  const TrackLayout layout(timeline, {}, {});
  TimelineScene scene;
  scene.timeline = &timeline;
  scene.layout = &layout;
  scene.span = {0, 500};
  scene.size = QSizeF(900, 300);
  for (uint32_t lane = 0; lane < 2; ++lane) {
    for (uint32_t i = 0; i < timeline.processes[0].tracks[0].lanes[lane].slices.size(); ++i) {
      const timeline::SliceRef ref{0, 0, lane, i};
      EXPECT_EQ(scene.sliceAt(scene.sliceRect(ref).center()), ref);
    }
  }
  EXPECT_EQ(scene.sliceAt(QPointF(scene.gutterWidth - 10, 80)), std::nullopt);
}

}  // namespace
}  // namespace plumb::test
