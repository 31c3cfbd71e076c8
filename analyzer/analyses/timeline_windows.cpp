// SPDX-License-Identifier: Apache-2.0
// Which part of a timeline to show first.
#include <algorithm>
#include <utility>

#include "analyzer/analyses/timeline_data.h"
#include "analyzer/intervals/intervals.h"

namespace plumb::timeline {
namespace {

constexpr int64_t kMarginShare = 50;  // of a window's length is left at both sides of it

Window withMargin(const Window& window) {
  const int64_t margin = (window.endNs - window.startNs) / kMarginShare;
  return {window.startNs - margin, window.endNs + margin};
}

using Slices = std::vector<Slice>;

// The slices that begin in a window.
std::pair<Slices::const_iterator, Slices::const_iterator> slicesIn(const Slices& slices, const Window& window) {
  const auto before = [](const Slice& slice, int64_t ns) { return slice.startNs < ns; };
  const auto first = std::lower_bound(slices.begin(), slices.end(), window.startNs, before);
  return {first, std::lower_bound(first, slices.end(), window.endNs, before)};
}

// When something that begins in the window happened; gaps of a row up to `shortest` count as filled. What encloses
// other events counts for nothing: a range around the whole program does not fill the time in which the program did
// nothing.
IntervalSet coveredBy(const Timeline& timeline, const Window& window, int64_t shortest) {
  std::vector<Interval> intervals;
  for (const Process& process : timeline.processes) {
    for (const Track& track : process.tracks) {
      if (track.kind == TrackKind::kSteps) continue;
      const bool isNested = track.kind == TrackKind::kRanges || track.kind == TrackKind::kProjection;
      for (size_t l = 0; l < track.lanes.size(); ++l) {
        static const Slices kNone;
        const Slices& below = isNested && l + 1 < track.lanes.size() ? track.lanes[l + 1].slices : kNone;
        const auto [first, last] = slicesIn(track.lanes[l].slices, window);
        auto inner = slicesIn(below, window).first;
        bool isFirst = true;
        for (auto slice = first; slice != last; ++slice) {
          while (inner != below.end() && inner->startNs < slice->startNs) ++inner;
          if (inner != below.end() && inner->startNs < slice->endNs()) continue;
          const int64_t end = std::max(slice->endNs(), slice->startNs + 1);  // a mark has no length
          if (isFirst || slice->startNs - intervals.back().end.ns() > shortest)
            intervals.push_back({TimePoint(slice->startNs), TimePoint(end)});
          else
            intervals.back().end = TimePoint(std::max(end, intervals.back().end.ns()));
          isFirst = false;
        }
      }
    }
  }
  return IntervalSet::unionOf(std::move(intervals));
}

// How many slices of device work, or of any kind, begin in the window.
size_t countIn(const Timeline& timeline, const Window& window, bool onlyDeviceWork) {
  size_t count = 0;
  for (const Process& process : timeline.processes) {
    for (const Track& track : process.tracks) {
      if (onlyDeviceWork && track.kind != TrackKind::kStream) continue;
      for (const Lane& lane : track.lanes) {
        const auto [first, last] = slicesIn(lane.slices, window);
        count += static_cast<size_t>(last - first);
      }
    }
  }
  return count;
}

// Where something happened in the window, without gaps of more than a third of it.
std::vector<Window> clustersOf(const Timeline& timeline, const Window& window) {
  const int64_t length = window.endNs - window.startNs;
  const IntervalSet covered = coveredBy(timeline, window, length / 1000);
  std::vector<Window> clusters;
  for (const Interval& part : covered.parts()) {
    if (!clusters.empty() && part.start.ns() - clusters.back().endNs <= length / 3)
      clusters.back().endNs = part.end.ns();
    else
      clusters.push_back({part.start.ns(), part.end.ns()});
  }
  return clusters;
}

}  // namespace

MainPart mainPart(const Timeline& timeline) {
  const bool onlyDeviceWork = std::ranges::any_of(timeline.processes, [](const Process& process) {
    return std::ranges::any_of(process.tracks, [](const Track& t) { return t.kind == TrackKind::kStream; });
  });
  const Window all{timeline.extent.startNs, timeline.extent.endNs + 1};  // with a mark at its end
  Window window = all;
  for (;;) {
    const auto clusters = clustersOf(timeline, window);
    const auto most = std::ranges::max_element(
        clusters, {}, [&](const Window& cluster) { return countIn(timeline, cluster, onlyDeviceWork); });
    // Where none has most of it, which to leave out is not for us to say.
    if (clusters.size() < 2 ||
        2 * countIn(timeline, *most, onlyDeviceWork) <= countIn(timeline, window, onlyDeviceWork))
      break;
    window = *most;
  }
  if (window == all) return {.window = timeline.extent};
  MainPart part;
  part.window = withMargin(window);
  part.isOfDeviceWork = onlyDeviceWork;
  for (const Process& process : timeline.processes) {
    for (const Track& track : process.tracks) {
      for (const Lane& lane : track.lanes) {
        const auto& slices = lane.slices;
        const auto first = std::ranges::partition_point(
            slices, [&](const Slice& slice) { return slice.endNs() <= part.window.startNs; });
        const auto last = std::partition_point(first, slices.end(),
                                               [&](const Slice& slice) { return slice.startNs < part.window.endNs; });
        part.before += static_cast<size_t>(first - slices.begin());
        part.after += static_cast<size_t>(slices.end() - last);
      }
    }
  }
  return part;
}

Window steadyWindow(const Timeline& timeline) {
  if (timeline.steps.empty()) return mainPart(timeline).window;
  const int64_t process = timeline.steps.front().processId;
  std::vector<const Step*> own;
  for (const Step& step : timeline.steps) {
    if (step.processId == process) own.push_back(&step);
  }
  if (own.size() > 1) own.erase(own.begin());
  const auto middle = own.begin() + static_cast<std::ptrdiff_t>((own.size() - 1) / 2);
  const auto lengthOf = [](const Step& step) { return step.window.endNs - step.window.startNs; };
  std::nth_element(own.begin(), middle, own.end(),
                   [&](const Step* a, const Step* b) { return lengthOf(*a) < lengthOf(*b); });
  const Step& chosen = **middle;
  // A process on a clock of its own takes its step at another time.
  const int64_t near = lengthOf(chosen);
  Window window = chosen.window;
  for (const Step& step : timeline.steps) {
    const bool isThen =
        step.window.startNs <= chosen.window.endNs + near && step.window.endNs >= chosen.window.startNs - near;
    if (step.number != chosen.number || !isThen) continue;
    window.startNs = std::min(window.startNs, step.window.startNs);
    window.endNs = std::max(window.endNs, step.window.endNs);
  }
  return withMargin(window);
}

}  // namespace plumb::timeline
