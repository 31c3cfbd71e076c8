// SPDX-License-Identifier: Apache-2.0
// Finding slices by a part of their name.
#pragma once
#include <QString>
#include <optional>
#include <vector>

#include "analyzer/analyses/timeline_data.h"

namespace plumb::gui {

struct SearchResult {
  std::vector<char> matches;               // by name index: 1 matches
  std::vector<timeline::SliceRef> slices;  // by start
};

// Case-insensitive. An empty text finds nothing and leaves both empty.
[[nodiscard]] SearchResult search(const timeline::Timeline& timeline, const QString& text);

// The position in result.slices that follows (direction 1) or precedes (-1) the selected slice in time, around the
// ends; none when nothing was found.
[[nodiscard]] std::optional<size_t> neighbour(const timeline::Timeline& timeline, const SearchResult& result,
                                              const std::optional<timeline::SliceRef>& selected, int direction);

}  // namespace plumb::gui
