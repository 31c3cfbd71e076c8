// SPDX-License-Identifier: Apache-2.0
// What follows from NCCL's name of an operation.
#pragma once
#include <algorithm>
#include <iterator>
#include <string_view>

namespace plumb {

// Is the size of an operation counted for all ranks (n * count * size: all-gather, reduce-scatter, all-to-all, gather,
// scatter) rather than as count * size? These send (n-1)/n of it over a rank's links.
[[nodiscard]] inline bool countsAllRanks(std::string_view operation) noexcept {
  constexpr std::string_view kAllRanks[] = {"AllGather", "ReduceScatter", "AlltoAll", "AllToAll", "Gather", "Scatter"};
  return std::find(std::begin(kAllRanks), std::end(kAllRanks), operation) != std::end(kAllRanks);
}

}  // namespace plumb
