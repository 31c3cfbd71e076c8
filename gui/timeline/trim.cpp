// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/trim.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace plumb::gui {
namespace {

using timeline::Lane;
using timeline::Track;
using timeline::TrackKind;

bool isNested(const Track& track) { return track.kind == TrackKind::kRanges || track.kind == TrackKind::kProjection; }

timeline::Window hullOf(const Track& track, size_t firstLane) {
  timeline::Window hull{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (size_t lane = firstLane; lane < track.lanes.size(); ++lane) {
    for (const timeline::Slice& slice : track.lanes[lane].slices) {
      hull.startNs = std::min(hull.startNs, slice.startNs);
      hull.endNs = std::max(hull.endNs, slice.endNs());
    }
  }
  return hull;
}

template <class Change>
size_t changeNested(timeline::Timeline& timeline, Change change) {
  size_t count = 0;
  for (timeline::Process& process : timeline.processes) {
    for (Track& track : process.tracks) {
      if (isNested(track)) count += change(track);
    }
  }
  timeline::indexTimeline(timeline);
  return count;
}

bool hasWork(const timeline::Process& process) {
  return std::ranges::any_of(process.tracks, [](const Track& track) { return track.kind == TrackKind::kStream; });
}

}  // namespace

size_t dropEnclosingLevels(timeline::Timeline& timeline) {
  constexpr size_t kFew = 8;
  return changeNested(timeline, [](Track& track) {
    size_t enclosing = 0;
    while (track.lanes.size() - enclosing > kFew && track.lanes[enclosing].slices.size() == 1) {
      const timeline::Slice& slice = track.lanes[enclosing].slices.front();
      const timeline::Window inside = hullOf(track, enclosing + 1);
      if (slice.startNs > inside.startNs || slice.endNs() < inside.endNs) break;
      ++enclosing;
    }
    track.lanes.erase(track.lanes.begin(), track.lanes.begin() + static_cast<std::ptrdiff_t>(enclosing));
    return enclosing;
  });
}

size_t dropDeepLevels(timeline::Timeline& timeline, size_t most) {
  return changeNested(timeline, [most](Track& track) {
    const size_t deep = track.lanes.size() - std::min(track.lanes.size(), most);
    track.lanes.resize(track.lanes.size() - deep);
    return deep;
  });
}

size_t dropProcessesWithoutWork(timeline::Timeline& timeline) {
  if (std::ranges::none_of(timeline.processes, hasWork)) return 0;
  const size_t dropped = std::erase_if(timeline.processes, [](const auto& process) { return !hasWork(process); });
  timeline::indexTimeline(timeline);
  return dropped;
}

}  // namespace plumb::gui
