// SPDX-License-Identifier: Apache-2.0
// Level of detail: which pixels of a lane to paint, at a cost that grows with the pixels and not with the slices.
#pragma once
#include <vector>

#include "analyzer/analyses/timeline_data.h"
#include "gui/timeline/time_scale.h"

namespace plumb::gui {

// Pixels [x0, x1) of a lane. One slice that is two or more pixels wide, or all the slices that begin and end in one
// pixel.
struct Run {
  int x0 = 0;
  int x1 = 0;
  size_t first = 0;    // index of the slice that stands for the run: the longest of those looked at
  size_t count = 0;    // 1: exactly that slice
  float coverage = 1;  // share of [x0, x1) in which something ran; for a run of one pixel
};

// The pixels that a slice touches: from floor of its start to ceil of its end, one at least.
struct PixelSpan {
  double x0;
  double x1;
};
[[nodiscard]] PixelSpan pixelSpan(const timeline::Slice& slice, const TimeScale& scale);

// The runs that meet [0, width), by position. A pixel is covered by some run exactly if some slice touches it.
// O(width * log(slices)).
[[nodiscard]] std::vector<Run> visibleRuns(const timeline::Lane& lane, const TimeScale& scale, int width);

// The slice of the lane that is painted at pixel x: the run's slice, or the one nearest to x among merged ones; -1:
// none. tolerancePx: how far beside a slice still counts.
[[nodiscard]] int64_t sliceAt(const timeline::Lane& lane, const TimeScale& scale, double x, double tolerancePx);

}  // namespace plumb::gui
