// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/timeline_data.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace plumb::timeline {
namespace {

// Finds the first lane that is free at a time. A tree of minima, because a hostile or odd trace can have as many lanes
// as slices, and a plain scan would then take quadratic time.
class LaneEnds {
 public:
  LaneEnds() : m_tree(2, kFree) {}

  // Takes the first lane whose last slice has ended by start; its new end is end.
  size_t take(int64_t start, int64_t end) {
    if (m_tree[1] > start) grow();
    size_t node = 1;
    while (node < m_leaves) node = m_tree[2 * node] <= start ? 2 * node : 2 * node + 1;
    const size_t lane = node - m_leaves;
    m_tree[node] = end;
    for (node /= 2; node > 0; node /= 2) m_tree[node] = std::min(m_tree[2 * node], m_tree[2 * node + 1]);
    return lane;
  }

 private:
  static constexpr int64_t kFree = std::numeric_limits<int64_t>::min();

  void grow() {
    std::vector<int64_t> tree(m_leaves * 4, kFree);
    std::copy(m_tree.begin() + static_cast<ptrdiff_t>(m_leaves), m_tree.end(),
              tree.begin() + static_cast<ptrdiff_t>(m_leaves * 2));
    m_leaves *= 2;
    for (size_t node = m_leaves - 1; node > 0; --node) tree[node] = std::min(tree[2 * node], tree[2 * node + 1]);
    m_tree = std::move(tree);
  }

  size_t m_leaves = 1;
  std::vector<int64_t> m_tree;
};

// The hull of any run of windows, in O(log n).
class Hulls {
 public:
  explicit Hulls(const std::vector<Window>& windows) : m_size(windows.size()), m_tree(2 * windows.size(), kEmpty) {
    std::copy(windows.begin(), windows.end(), m_tree.begin() + static_cast<ptrdiff_t>(m_size));
    for (size_t node = m_size; node-- > 1;) m_tree[node] = merged(m_tree[2 * node], m_tree[2 * node + 1]);
  }

  // Of [first, last); start > end when that is empty.
  [[nodiscard]] Window of(size_t first, size_t last) const {
    Window hull = kEmpty;
    for (first += m_size, last += m_size; first < last; first /= 2, last /= 2) {
      if (first & 1) hull = merged(hull, m_tree[first++]);
      if (last & 1) hull = merged(hull, m_tree[--last]);
    }
    return hull;
  }

 private:
  static constexpr Window kEmpty{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  static Window merged(const Window& a, const Window& b) {
    return {std::min(a.startNs, b.startNs), std::max(a.endNs, b.endNs)};
  }

  size_t m_size;
  std::vector<Window> m_tree;
};

bool outerFirst(const Slice& a, const Slice& b) {
  return a.startNs != b.startNs ? a.startNs < b.startNs : a.durationNs > b.durationNs;
}

bool linkBefore(const Link& a, const Link& b) {
  return std::tie(a.process, a.correlation) < std::tie(b.process, b.correlation);
}

}  // namespace

std::vector<Lane> assignLanes(std::vector<Slice> slices) {
  std::stable_sort(slices.begin(), slices.end(), outerFirst);
  std::vector<Lane> lanes;
  LaneEnds ends;
  for (const Slice& slice : slices) {
    // A mark occupies a nanosecond, so that two at one instant stay apart.
    const size_t lane = ends.take(slice.startNs, slice.startNs + std::max<int64_t>(slice.durationNs, 1));
    if (lane >= lanes.size()) lanes.resize(lane + 1);
    lanes[lane].slices.push_back(slice);
  }
  for (Lane& lane : lanes) indexLane(lane);
  return lanes;
}

std::vector<Slice> projectRanges(std::vector<Slice> ranges, const std::vector<Slice>& calls,
                                 const std::vector<LaunchedWork>& work) {
  struct Call {
    int64_t startNs;
    Window device;
  };
  std::vector<Call> launches;
  for (const Slice& call : calls) {
    auto it = std::partition_point(work.begin(), work.end(),
                                   [&](const LaunchedWork& w) { return w.correlation < call.correlation; });
    // A graph launch has many pieces of work under one correlation id.
    for (; it != work.end() && it->correlation == call.correlation; ++it)
      launches.push_back({call.startNs, it->device});
  }
  std::sort(launches.begin(), launches.end(), [](const Call& a, const Call& b) { return a.startNs < b.startNs; });
  std::vector<Window> windows;
  for (const Call& call : launches) windows.push_back(call.device);
  const Hulls hulls(windows);
  const auto firstFrom = [&](int64_t ns) {
    const auto it =
        std::partition_point(launches.begin(), launches.end(), [ns](const Call& call) { return call.startNs < ns; });
    return static_cast<size_t>(it - launches.begin());
  };
  // Enclosing ranges first: when they project onto the same span, that order tells which lies above.
  std::stable_sort(ranges.begin(), ranges.end(), outerFirst);
  std::vector<Slice> projected;
  for (Slice range : ranges) {
    const Window hull = hulls.of(firstFrom(range.startNs), firstFrom(range.endNs()));
    if (hull.startNs > hull.endNs) continue;
    range.startNs = hull.startNs;
    range.durationNs = hull.endNs - hull.startNs;
    projected.push_back(range);
  }
  return projected;
}

void indexLane(Lane& lane) {
  lane.busyBefore.resize(lane.slices.size() + 1);
  int64_t busy = 0;
  for (size_t i = 0; i < lane.slices.size(); ++i) {
    lane.busyBefore[i] = busy;
    busy += lane.slices[i].durationNs;
  }
  lane.busyBefore.back() = busy;
}

void indexTimeline(Timeline& timeline) {
  timeline.links.clear();
  timeline.sliceCount = 0;
  Window extent{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (uint32_t p = 0; p < timeline.processes.size(); ++p) {
    const auto& tracks = timeline.processes[p].tracks;
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      // The collectives row repeats kernels; a link to it would make every collective kernel appear twice.
      const bool linked = tracks[t].kind == TrackKind::kStream || tracks[t].kind == TrackKind::kApiCalls;
      for (uint32_t l = 0; l < tracks[t].lanes.size(); ++l) {
        const auto& slices = tracks[t].lanes[l].slices;
        timeline.sliceCount += slices.size();
        if (!slices.empty()) {
          extent.startNs = std::min(extent.startNs, slices.front().startNs);
          extent.endNs = std::max(extent.endNs, slices.back().endNs());
        }
        if (!linked) continue;
        for (uint32_t i = 0; i < slices.size(); ++i) {
          const bool isHost = slices[i].kind == SliceKind::kApiCall;
          if (slices[i].correlation < 0 || (!isHost && !isDeviceWork(slices[i].kind))) continue;
          timeline.links.push_back({p, slices[i].correlation, {p, t, l, i}, isHost});
        }
      }
    }
  }
  timeline.extent = timeline.sliceCount ? extent : Window{};
  std::stable_sort(timeline.links.begin(), timeline.links.end(), linkBefore);
}

std::vector<SliceRef> linkedSlices(const Timeline& timeline, const SliceRef& ref) {
  std::vector<SliceRef> result;
  const Slice& slice = timeline.slice(ref);
  const bool isHost = slice.kind == SliceKind::kApiCall;
  if (slice.correlation < 0 || (!isHost && !isDeviceWork(slice.kind) && slice.kind != SliceKind::kCollective))
    return result;
  const Link key{ref.process, slice.correlation, {}, false};
  const auto [first, last] = std::equal_range(timeline.links.begin(), timeline.links.end(), key, linkBefore);
  for (auto it = first; it != last; ++it) {
    if (it->isHost != isHost || slice.kind == SliceKind::kCollective) result.push_back(it->slice);
  }
  return result;
}

bool isDeviceWork(SliceKind kind) noexcept {
  return kind == SliceKind::kKernel || kind == SliceKind::kCommunication || kind == SliceKind::kCopy ||
         kind == SliceKind::kSet;
}

const char* kindName(SliceKind kind) noexcept {
  switch (kind) {
    case SliceKind::kStep:
      return "training step";
    case SliceKind::kRange:
      return "range";
    case SliceKind::kApiCall:
      return "API call";
    case SliceKind::kSynchronization:
      return "synchronization";
    case SliceKind::kKernel:
      return "kernel";
    case SliceKind::kCommunication:
      return "communication kernel";
    case SliceKind::kCopy:
      return "memory copy";
    case SliceKind::kSet:
      return "memory set";
    case SliceKind::kCollective:
      return "collective";
    case SliceKind::kOsCall:
      return "operating system call";
    case SliceKind::kStuck:
      return "stuck collective";
  }
  return "event";
}

}  // namespace plumb::timeline
