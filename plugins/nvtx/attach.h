// SPDX-License-Identifier: Apache-2.0
// Puts our functions into NVTX's tables. Every shared object that uses NVTX has tables of its own and attaches by
// itself.
#pragma once

namespace plumb::nvtx {

// exportTable: NvtxGetExportTableFunc_t of one shared object. Returns true if at least the core functions were taken.
bool attachCore(void* exportTable) noexcept;

// moduleInfo: nvtxExtModuleInfo_t of one shared object. Returns false for modules other than payload.
bool attachPayloadExtension(void* moduleInfo) noexcept;

}  // namespace plumb::nvtx
