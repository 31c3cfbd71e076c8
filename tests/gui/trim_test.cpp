// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "gui/timeline/trim.h"

namespace plumb::test {
namespace {

using timeline::Track;
using timeline::TrackKind;

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
