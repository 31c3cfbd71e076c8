// SPDX-License-Identifier: Apache-2.0
// The activity kinds of CUPTI 13.0: the size of each kind's record, and which kinds can be enabled.
#pragma once
#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace softcuda {

inline constexpr uint32_t kActivityKinds = 64;  // room for every kind

// Bytes of a kind's record; 0 for kinds that have none any more (event, metric, source-level …) or never had.
std::size_t recordBytes(uint32_t kind);

// The answer of cuptiActivityEnable and Disable for a kind.
CUptiResult enableResult(uint32_t kind);

}  // namespace softcuda
