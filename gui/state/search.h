// SPDX-License-Identifier: Apache-2.0
// Finding slices by a part of their name. Nothing is kept per slice: a pass over a million of them takes milliseconds,
// and a sorted list of what "a" finds takes a quarter of a second.
#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "analyzer/analyses/timeline_data.h"

namespace plumb::gui {

struct SearchResult {
  std::vector<char> matches;  // by name index: 1 matches
  size_t count = 0;           // of slices
};

// Case-insensitive. An empty text finds nothing and leaves both empty.
[[nodiscard]] SearchResult search(const timeline::Timeline& timeline, const QString& text);

struct Match {
  timeline::SliceRef slice;
  size_t position = 0;  // among all matches by start, from 0
  friend bool operator==(const Match&, const Match&) = default;
};

// The match that follows (direction 1) or precedes (-1) the selected slice in time, around the ends; none when nothing
// was found.
[[nodiscard]] std::optional<Match> neighbour(const timeline::Timeline& timeline, const SearchResult& result,
                                             const std::optional<timeline::SliceRef>& selected, int direction);

}  // namespace plumb::gui
