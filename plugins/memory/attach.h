// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::memory {

// moduleInfo: nvtxExtModuleInfo_t of one shared object. Returns false for modules other than memory.
bool attachMemoryExtension(void* moduleInfo) noexcept;

}  // namespace plumb::memory
