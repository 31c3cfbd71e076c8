// SPDX-License-Identifier: Apache-2.0
// Ranks are not recorded from the same moment on: a profiler or a process starts later on one than on the others, and
// in the first collective after that the others wait for it. No phase of the run made it late then.
#pragma once
#include <algorithm>

#include "analyzer/trace/time.h"

namespace plumb {

// Of a wait in the first collective that was recorded of both ranks: what is left when the recordings are laid one over
// the other at their begin. The rest of the wait is what the late rank took longer since its recording began. Times are
// of one clock.
[[nodiscard]] inline Duration waitForRecording(Duration wait, Duration sinceOwnBegin, Duration sinceLateBegin) {
  return wait - std::clamp(sinceLateBegin - sinceOwnBegin, Duration(), std::max(wait, Duration()));
}

}  // namespace plumb
