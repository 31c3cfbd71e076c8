// SPDX-License-Identifier: Apache-2.0
// Stand-ins for the functions of collector/api/interposed.def that belong to cuBLAS.
#pragma once

namespace plumb::cublas {

// The stand-in for a function, or NULL for one that we leave alone.
void* replacementOf(const char* name) noexcept;

}  // namespace plumb::cublas
