// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/visible_runs.h"

#include <algorithm>
#include <cmath>

namespace plumb::gui {
namespace {

using timeline::Lane;
using timeline::Slice;

// The first index in [from, size) for which pred is true; pred is false before and true after. Looks near from first,
// since the next pixel's slices are usually close.
template <class Pred>
size_t gallop(size_t from, size_t size, Pred pred) {
  size_t step = 1;
  size_t low = from;
  while (low < size && !pred(low)) {
    const size_t next = std::min(size, low + step);
    if (next == size || pred(next)) {
      size_t left = low + 1;
      size_t right = next;
      while (left < right) {
        const size_t middle = left + (right - left) / 2;
        if (pred(middle))
          right = middle;
        else
          left = middle + 1;
      }
      return left;
    }
    low = next;
    step *= 2;
  }
  return low;
}

size_t longestOf(const Lane& lane, size_t first, size_t last) {
  constexpr size_t kLookedAt = 32;
  const size_t stride = std::max<size_t>(1, (last - first) / kLookedAt);
  size_t best = first;
  for (size_t i = first; i < last; i += stride) {
    if (lane.slices[i].durationNs > lane.slices[best].durationNs) best = i;
  }
  return best;
}

}  // namespace

PixelSpan pixelSpan(const Slice& slice, const TimeScale& scale) {
  const double x0 = std::floor(scale.toPixel(static_cast<double>(slice.startNs)));
  const double x1 = std::ceil(scale.toPixel(static_cast<double>(slice.endNs())));
  return {x0, std::max(x1, x0 + 1)};
}

std::vector<Run> visibleRuns(const Lane& lane, const TimeScale& scale, int width) {
  std::vector<Run> runs;
  const auto& slices = lane.slices;
  const auto toInt = [width](double x) { return static_cast<int>(std::clamp(x, 0.0, static_cast<double>(width))); };
  const auto begins = std::partition_point(slices.begin(), slices.end(),
                                           [&](const Slice& slice) { return pixelSpan(slice, scale).x1 <= 0; });
  size_t i = static_cast<size_t>(begins - slices.begin());
  while (i < slices.size()) {
    const PixelSpan span = pixelSpan(slices[i], scale);
    if (span.x0 >= width) break;
    if (span.x1 - span.x0 >= 2) {
      runs.push_back({toInt(span.x0), toInt(span.x1), i, 1, 1.0F});
      ++i;
      continue;
    }
    size_t end = gallop(i + 1, slices.size(), [&](size_t k) { return pixelSpan(slices[k], scale).x0 > span.x0; });
    // Only the last slice that begins in this pixel can reach into the next one.
    if (end - i > 1 && pixelSpan(slices[end - 1], scale).x1 - span.x0 >= 2) --end;
    const auto busy = static_cast<double>(lane.busyBefore[end] - lane.busyBefore[i]);
    runs.push_back({toInt(span.x0), toInt(span.x1), longestOf(lane, i, end), end - i,
                    static_cast<float>(std::min(1.0, busy / scale.nsPerPixel()))});
    i = end;
  }
  return runs;
}

int64_t sliceAt(const Lane& lane, const TimeScale& scale, double x, double tolerancePx) {
  const auto& slices = lane.slices;
  if (slices.empty()) return -1;
  const double ns = scale.toNs(x);
  const auto after = std::partition_point(slices.begin(), slices.end(),
                                          [&](const Slice& slice) { return static_cast<double>(slice.startNs) <= ns; });
  const auto index = after - slices.begin();
  const auto distance = [&](int64_t k) {
    const Slice& slice = slices[static_cast<size_t>(k)];
    return std::max({scale.toPixel(static_cast<double>(slice.startNs)) - x,
                     x - scale.toPixel(static_cast<double>(slice.endNs())), 0.0});
  };
  int64_t best = -1;
  for (const int64_t candidate : {int64_t{index} - 1, int64_t{index}}) {
    if (candidate < 0 || candidate >= static_cast<int64_t>(slices.size())) continue;
    if (best < 0 || distance(candidate) < distance(best)) best = candidate;
  }
  if (best < 0) return -1;
  const PixelSpan span = pixelSpan(slices[static_cast<size_t>(best)], scale);
  const bool onItsPixels = x >= span.x0 && x < span.x1;
  return onItsPixels || distance(best) <= tolerancePx ? best : -1;
}

}  // namespace plumb::gui
