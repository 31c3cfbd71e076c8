// SPDX-License-Identifier: Apache-2.0
// Leaves out of a timeline what says least, for a picture of limited height. Pure.
#pragma once
#include <cstddef>

#include "analyzer/analyses/timeline_data.h"

namespace plumb::gui {

// Levels of nested ranges that enclose all other ranges of their track (Python's frames around the training loop), in
// tracks of many levels. Returns how many.
size_t dropEnclosingLevels(timeline::Timeline& timeline);

// Levels of nested ranges below the first `most` of their track. Returns how many.
size_t dropDeepLevels(timeline::Timeline& timeline, size_t most);

// Processes without work on a device, where others have some. Returns how many.
size_t dropProcessesWithoutWork(timeline::Timeline& timeline);

}  // namespace plumb::gui
