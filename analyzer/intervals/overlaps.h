// SPDX-License-Identifier: Apache-2.0
// Which intervals of two lists share time. Unlike a set, a list keeps its intervals apart: they may overlap each other.
#pragma once
#include <functional>
#include <span>

#include "analyzer/trace/time.h"

namespace plumb {

// Calls take(i, j, shared) for each pair of a[i] and b[j] with the time that they share, in order of its start; stops
// when take returns false. Empty intervals share nothing. O(n log n + pairs).
void forEachOverlap(std::span<const Interval> a, std::span<const Interval> b,
                    const std::function<bool(size_t, size_t, Interval)>& take);

}  // namespace plumb
