// SPDX-License-Identifier: Apache-2.0
// Which processes can be of one clock when the trace does not say on which hosts they ran. No rank can leave an
// all-reduce, all-gather, reduce-scatter or all-to-all before the last one has arrived: where one ends before another
// has arrived, beyond what clocks of one host differ by, their clocks are not the same.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/trace/time.h"

namespace plumb {

// A process's kernel of a collective, by its own clock.
struct CollectiveStay {
  size_t instance;
  int64_t startNs, endNs;
};

struct UnknownClock {
  std::vector<size_t> processes;      // indices; the first is the one that the others were compared with
  std::optional<Duration> agreement;  // the others' clocks are within this of the first's; none: nothing says it
  int64_t uncheckedCount = 0;         // processes that are here only because nothing says that they are not
  int64_t impossibleCount = 0;        // collectives that are not possible on one clock, too few to part them
};

// Stays of each process. At least one clock when there is a process. Pure.
[[nodiscard]] std::vector<UnknownClock> clocksByCausality(const std::vector<std::vector<CollectiveStay>>& stays);

}  // namespace plumb
