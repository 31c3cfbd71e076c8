// SPDX-License-Identifier: Apache-2.0
// The plugin objects that NCCL looks for, versions 1 to 5.
#pragma once

namespace plumb::nccl {

// The address of a ncclProfiler_v<version>_t that stays valid, or NULL for a version we do not speak.
const void* profiler(int version) noexcept;

}  // namespace plumb::nccl
