// SPDX-License-Identifier: Apache-2.0
// Arithmetic on numbers that came from elsewhere: no overflow, whatever they are.
#pragma once
#include <cstdint>
#include <limits>

namespace plumb::recorder {

constexpr int64_t saturate(__int128 value) noexcept {
  constexpr __int128 kMost = std::numeric_limits<int64_t>::max();
  constexpr __int128 kLeast = std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value > kMost ? kMost : value < kLeast ? kLeast : value);
}

constexpr int64_t saturatingSubtract(int64_t a, int64_t b) noexcept { return saturate(static_cast<__int128>(a) - b); }

// A quantity (bytes, counts) as SQLite stores it.
constexpr int64_t quantity(uint64_t value) noexcept { return saturate(static_cast<__int128>(value)); }

// An identity (address, hash, handle) as SQLite stores it: the same 64 bits.
constexpr int64_t identity(uint64_t value) noexcept { return static_cast<int64_t>(value); }

}  // namespace plumb::recorder
