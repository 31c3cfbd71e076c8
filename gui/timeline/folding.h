// SPDX-License-Identifier: Apache-2.0
// What is folded of a timeline before the user has folded anything. Pure.
#pragma once
#include "analyzer/analyses/timeline_data.h"
#include "gui/timeline/track_layout.h"

namespace plumb::gui {

// Nothing, as long as each process's streams begin within height below its name. Else its tallest tracks above them
// are folded to a line each until they do; of processes without streams that come first, all.
[[nodiscard]] Folding foldedAboveStreams(const timeline::Timeline& timeline, const LayoutMetrics& metrics,
                                         double height);

}  // namespace plumb::gui
