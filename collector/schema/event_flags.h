// SPDX-License-Identifier: Apache-2.0
// Bits of kernel.flags, memory_copy.flags and memory_set.flags; tables.sql says what they mean.
#pragma once
#include <cstdint>

namespace plumb::schema {

inline constexpr int64_t kNoUsableTime = 1, kFromGraph = 2, kWholeGraph = 4;

}  // namespace plumb::schema
