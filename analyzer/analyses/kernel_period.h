// SPDX-License-Identifier: Apache-2.0
// The period of a sequence, for training steps that nobody declared: a loop launches the same kernels again and again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace plumb {

struct Period {
  size_t length = 0;  // kernels per repetition, the usual number
  std::vector<size_t>
      starts;        // where each repetition begins; the last one is followed by at least 9/10 of a repetition
  double match = 0;  // share of places that hold the same as one length later, between the first and the last
};

// gapBefore: idle time before each element, by which the beginning of a repetition is chosen: where the pause is
// longest (median), else at the earliest place. None when nothing repeats at least three times, when repetitions cover
// less than half of the sequence, or when less than 8/10 of it is the same one length later. O(n) but for a sort.
[[nodiscard]] std::optional<Period> findPeriod(const std::vector<uint64_t>& names,
                                               const std::vector<int64_t>& gapBefore);

}  // namespace plumb
