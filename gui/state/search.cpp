// SPDX-License-Identifier: Apache-2.0
#include "gui/state/search.h"

#include <algorithm>
#include <tuple>

namespace plumb::gui {
namespace {

using timeline::SliceRef;

// Slices that start together keep the order in which they are shown.
auto orderOf(const timeline::Timeline& timeline, const SliceRef& ref) {
  return std::make_tuple(timeline.slice(ref).startNs, ref.process, ref.track, ref.lane, ref.index);
}

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
  for (uint32_t p = 0; p < timeline.processes.size(); ++p) {
    const auto& tracks = timeline.processes[p].tracks;
    for (uint32_t t = 0; t < tracks.size(); ++t) {
      for (uint32_t l = 0; l < tracks[t].lanes.size(); ++l) {
        const auto& slices = tracks[t].lanes[l].slices;
        for (uint32_t i = 0; i < slices.size(); ++i) {
          if (result.matches[slices[i].name]) result.slices.push_back({p, t, l, i});
        }
      }
    }
  }
  std::sort(result.slices.begin(), result.slices.end(),
            [&](const SliceRef& a, const SliceRef& b) { return orderOf(timeline, a) < orderOf(timeline, b); });
  return result;
}

std::optional<size_t> neighbour(const timeline::Timeline& timeline, const SearchResult& result,
                                const std::optional<SliceRef>& selected, int direction) {
  const auto& slices = result.slices;
  if (slices.empty()) return std::nullopt;
  if (!selected) return direction > 0 ? 0 : slices.size() - 1;
  const auto key = orderOf(timeline, *selected);
  if (direction > 0) {
    const auto next = std::partition_point(slices.begin(), slices.end(),
                                           [&](const SliceRef& ref) { return orderOf(timeline, ref) <= key; });
    return next == slices.end() ? 0 : static_cast<size_t>(next - slices.begin());
  }
  const auto here = std::partition_point(slices.begin(), slices.end(),
                                         [&](const SliceRef& ref) { return orderOf(timeline, ref) < key; });
  return here == slices.begin() ? slices.size() - 1 : static_cast<size_t>(here - slices.begin()) - 1;
}

}  // namespace plumb::gui
