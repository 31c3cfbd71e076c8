// SPDX-License-Identifier: Apache-2.0
#include "gui/state/search.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace plumb::gui {
namespace {

using timeline::SliceRef;

// Slices that start together keep the order in which they are shown.
using Key = std::tuple<int64_t, uint32_t, uint32_t, uint32_t, uint32_t>;
using Slices = std::vector<timeline::Slice>;

template <class Visit>
void forEachLane(const timeline::Timeline& timeline, Visit visit) {
  for (uint32_t p = 0; p < timeline.processes.size(); ++p) {
    const auto& tracks = timeline.processes[p].tracks;
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      for (uint32_t l = 0; l < tracks[t].lanes.size(); ++l) visit(SliceRef{p, t, l, 0}, tracks[t].lanes[l].slices);
    }
  }
}

Key keyOf(const Slices& slices, const SliceRef& lane, size_t i) {
  return {slices[i].startNs, lane.process, lane.track, lane.lane, static_cast<uint32_t>(i)};
}

SliceRef refOf(const Key& key) { return {std::get<1>(key), std::get<2>(key), std::get<3>(key), std::get<4>(key)}; }

}  // namespace

SearchResult search(const timeline::Timeline& timeline, const QString& text) {
  SearchResult result;
  if (text.isEmpty()) return result;
  result.matches.resize(timeline.names.size(), 0);
  for (size_t i = 0; i < timeline.names.size(); ++i) {
    const std::string& name = timeline.names[i];
    result.matches[i] =
        QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())).contains(text, Qt::CaseInsensitive) ? 1 : 0;
  }
  forEachLane(timeline, [&](const SliceRef&, const Slices& slices) {
    for (const timeline::Slice& slice : slices) result.count += static_cast<size_t>(result.matches[slice.name]);
  });
  return result;
}

std::optional<Match> neighbour(const timeline::Timeline& timeline, const SearchResult& result,
                               const std::optional<SliceRef>& selected, int direction) {
  if (result.count == 0) return std::nullopt;
  std::optional<Key> here;
  if (selected) {
    here = Key{timeline.slice(*selected).startNs, selected->process, selected->track, selected->lane, selected->index};
  }
  const auto matches = [&](const timeline::Slice& slice) { return result.matches[slice.name] != 0; };
  // Beyond the selected slice, and around the end.
  std::optional<Key> nearest, first;
  size_t before = 0;  // matches that come before the place where the walk begins
  const auto take = [direction](std::optional<Key>& best, const Key& key) {
    if (!best || (direction > 0 ? key < *best : *best < key)) best = key;
  };
  forEachLane(timeline, [&](const SliceRef& lane, const Slices& slices) {
    size_t split = direction > 0 ? 0 : slices.size();
    if (here) {
      const auto passed = [&](const timeline::Slice& slice) {
        const Key key = keyOf(slices, lane, static_cast<size_t>(&slice - slices.data()));
        return direction > 0 ? key <= *here : key < *here;
      };
      split = static_cast<size_t>(std::ranges::partition_point(slices, passed) - slices.begin());
    }
    const auto middle = slices.begin() + static_cast<std::ptrdiff_t>(split);
    before += static_cast<size_t>(std::count_if(slices.begin(), middle, matches));
    const auto indexOf = [&](auto position) { return static_cast<size_t>(position - slices.begin()); };
    if (direction > 0) {
      if (const auto next = std::find_if(middle, slices.end(), matches); next != slices.end())
        take(nearest, keyOf(slices, lane, indexOf(next)));
      if (const auto next = std::find_if(slices.begin(), middle, matches); next != middle)
        take(first, keyOf(slices, lane, indexOf(next)));
    } else {
      const auto reversed = std::make_reverse_iterator(middle);
      if (const auto next = std::find_if(reversed, slices.rend(), matches); next != slices.rend())
        take(nearest, keyOf(slices, lane, indexOf(next.base()) - 1));
      if (const auto next = std::find_if(slices.rbegin(), reversed, matches); next != reversed)
        take(first, keyOf(slices, lane, indexOf(next.base()) - 1));
    }
  });
  if (!nearest) return Match{refOf(*first), direction > 0 ? 0 : result.count - 1};
  return Match{refOf(*nearest), direction > 0 ? before : before - 1};
}

}  // namespace plumb::gui
