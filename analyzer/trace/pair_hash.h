// SPDX-License-Identifier: Apache-2.0
// The hash of two ids as a file gives them: any value, so nothing here may overflow.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace plumb {

[[nodiscard]] inline size_t pairHash(int64_t first, int64_t second) noexcept {
  return std::hash<uint64_t>{}(static_cast<uint64_t>(first) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(second));
}

}  // namespace plumb
