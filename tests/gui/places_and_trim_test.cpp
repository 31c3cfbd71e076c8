// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "gui/charts/memory_places.h"
#include "gui/timeline/trim.h"

namespace plumb::test {
namespace {

using gui::MemoryPlaces;
using timeline::Track;
using timeline::TrackKind;

MemoryPoint pointAt(int64_t ns, int64_t bytes) {
  MemoryPoint point;
  point.time = TimePoint(ns);
  point.totalBytes = bytes;
  return point;
}
LiveMemory live(const std::string& name, int64_t sinceNs, int64_t bytes) {
  LiveMemory one;
  one.name = name;
  one.since = TimePoint(sinceNs);
  one.bytes = bytes;
  return one;
}

TEST(MemoryPlaces, SayWhoAllocatedWhatIsLiveAtThePeak) {
  DeviceMemory memory;
  memory.points = {pointAt(0, 10), pointAt(5, 40), pointAt(8, 45), pointAt(9, 20)};
  static_cast<MemoryPoint&>(memory.peak) = pointAt(8, 45);
  memory.liveAtPeak = {live("b.py:2 g", 5, 30), live("a.py:1 f", 0, 10), live("a.py:1 f", 8, 5)};
  const auto places = MemoryPlaces::of(memory);
  ASSERT_TRUE(places);
  ASSERT_EQ(places->places().size(), 2u);
  EXPECT_EQ(places->places()[0].name, "b.py:2 g") << "the largest first";
  EXPECT_EQ(places->bytesAt(0, 4), 0);
  EXPECT_EQ(places->bytesAt(0, 5), 30);
  EXPECT_EQ(places->bytesAt(1, 7), 10);
  EXPECT_EQ(places->bytesAt(1, 8), 15);
  EXPECT_EQ(places->bytesAt(1, 9), 0) << "what was freed then is not known";
}

TEST(MemoryPlaces, AreForMemoryThatNobodyNamed) {
  DeviceMemory memory;
  EXPECT_FALSE(MemoryPlaces::of(memory));
  memory.liveAtPeak = {live("", 0, 10)};
  EXPECT_FALSE(MemoryPlaces::of(memory));
  memory.liveAtPeak = {live("a.py:1 f", 0, 10)};
  EXPECT_TRUE(MemoryPlaces::of(memory));
  memory.hasDeclarations = true;
  EXPECT_FALSE(MemoryPlaces::of(memory));
}

timeline::Lane laneOf(std::vector<std::pair<int64_t, int64_t>> spans) {
  timeline::Lane lane;
  for (const auto& [start, end] : spans) lane.slices.push_back({.startNs = start, .durationNs = end - start});
  timeline::indexLane(lane);
  return lane;
}

// Three levels around everything, then eight of two slices each.
timeline::Timeline nested() {
  Track track;
  track.kind = TrackKind::kRanges;
  for (int i = 0; i < 3; ++i) track.lanes.push_back(laneOf({{0, 100}}));
  for (int i = 0; i < 8; ++i) track.lanes.push_back(laneOf({{10, 40}, {50, 90}}));
  Track stream;
  stream.kind = TrackKind::kStream;
  stream.lanes.push_back(laneOf({{20, 30}}));
  timeline::Timeline timeline;
  timeline.processes.resize(2);
  timeline.processes[0].tracks = {track, stream};
  timeline.processes[1].tracks = {track};
  return timeline;
}

TEST(Trim, LeavesOutLevelsThatEncloseEverything) {
  timeline::Timeline timeline = nested();
  EXPECT_EQ(gui::dropEnclosingLevels(timeline), 6u);
  EXPECT_EQ(timeline.processes[0].tracks[0].lanes.size(), 8u);
  EXPECT_EQ(timeline.processes[0].tracks[1].lanes.size(), 1u) << "work is never left out";
  EXPECT_EQ(gui::dropEnclosingLevels(timeline), 0u);
}

TEST(Trim, LeavesOutDeepLevels) {
  timeline::Timeline timeline = nested();
  EXPECT_EQ(gui::dropDeepLevels(timeline, 5), 12u);
  EXPECT_EQ(timeline.processes[1].tracks[0].lanes.size(), 5u);
}

TEST(Trim, LeavesOutProcessesWithoutWorkWhereOthersHaveSome) {
  timeline::Timeline timeline = nested();
  EXPECT_EQ(gui::dropProcessesWithoutWork(timeline), 1u);
  ASSERT_EQ(timeline.processes.size(), 1u);
  timeline.processes[0].tracks.pop_back();
  EXPECT_EQ(gui::dropProcessesWithoutWork(timeline), 0u) << "then none has any";
}

}  // namespace
}  // namespace plumb::test
