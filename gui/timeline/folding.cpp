// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/folding.h"

#include <algorithm>

namespace plumb::gui {
namespace {

using timeline::Track;
using timeline::TrackKind;

constexpr double kMostForStreams = 0.4;  // of the height: streams that do not fit into it are left to scrolling

double heightOf(const Track& track, const LayoutMetrics& metrics) {
  return static_cast<double>(std::max<size_t>(1, track.lanes.size())) * metrics.laneHeight;
}

// Returns how far the streams of a process reach below its top; 0: it has none.
double foldProcess(const timeline::Timeline& timeline, uint32_t process, const LayoutMetrics& metrics, double height,
                   Folding& folding) {
  const auto& tracks = timeline.processes[process].tracks;
  std::vector<uint32_t> above;
  double bottom = metrics.headerHeight + metrics.trackGap;
  double streams = 0;
  for (uint32_t t = 0; t < tracks.size(); ++t) {
    const double own = heightOf(tracks[t], metrics) + metrics.trackGap;
    const bool isStream = tracks[t].kind == TrackKind::kStream;
    if (streams > 0 && (!isStream || streams + own > height * kMostForStreams)) break;
    if (isStream)
      streams += std::min(own, height * kMostForStreams);
    else
      above.push_back(t);
    bottom += own;
  }
  if (streams == 0) return 0;
  std::ranges::stable_sort(above, std::greater{}, [&](uint32_t t) { return heightOf(tracks[t], metrics); });
  for (const uint32_t t : above) {
    if (bottom <= height) break;
    folding.tracks.insert({process, t});
    bottom -= heightOf(tracks[t], metrics) - metrics.collapsedHeight;
  }
  return bottom;
}

}  // namespace

Folding foldedAboveStreams(const timeline::Timeline& timeline, const LayoutMetrics& metrics, double height) {
  Folding folding;
  std::vector<uint32_t> before;  // processes without streams
  double top = 0;
  bool isFirst = true;
  for (uint32_t p = 0; p < timeline.processes.size(); ++p) {
    const double bottom = foldProcess(timeline, p, metrics, height, folding);
    if (bottom == 0 && isFirst) {
      before.push_back(p);
      top += metrics.headerHeight + metrics.trackGap + metrics.processGap;
      for (const Track& track : timeline.processes[p].tracks) top += heightOf(track, metrics) + metrics.trackGap;
    } else if (bottom > 0 && isFirst) {
      isFirst = false;
      if (top + bottom > height) folding.processes.insert(before.begin(), before.end());
    }
  }
  return folding;
}

}  // namespace plumb::gui
