// SPDX-License-Identifier: Apache-2.0
// How long the loaded library's records are. A library always emits its newest structs, whatever it was built against,
// so the version number alone does not say.
#pragma once
#include <cstddef>
#include <cstdint>

#include "plugins/cupti/cupti_table.h"

namespace plumb::cupti {

// Bytes from one record of this kind to the next, or 0 if the library does not know the kind. Needs no driver.
size_t probeRecordBytes(const CuptiTable& table, uint32_t kind) noexcept;

// Bytes of our prefix struct of a kind (cupti_abi.h), or 0 for a kind that we do not read.
size_t prefixBytes(uint32_t kind) noexcept;

}  // namespace plumb::cupti
