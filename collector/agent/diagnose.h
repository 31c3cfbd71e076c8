// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "collector/api/records.h"

namespace plumb::agent {

// Publishes a diagnostic row. lane, code: literals; message: one sentence for the user.
void diagnose(Severity severity, const char* lane, const char* code, uint64_t count, const char* message) noexcept;

}  // namespace plumb::agent
