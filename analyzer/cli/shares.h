// SPDX-License-Identifier: Apache-2.0
// Shares that add up.
#pragma once
#include <cstdint>
#include <vector>

namespace plumb::cli {

// The parts of a whole in tenths of a percent, rounded so that they add up to exactly 1000 (largest remainder). Empty
// when the whole is 0. Parts must not be negative.
[[nodiscard]] std::vector<int64_t> sharesInTenths(const std::vector<int64_t>& parts);

}  // namespace plumb::cli
