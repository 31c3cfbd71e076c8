// SPDX-License-Identifier: Apache-2.0
#include "plugins/memory/attach.h"

#include "plugins/memory/calls.h"

namespace plumb::memory {

bool attachMemoryExtension(void* moduleInfo) noexcept {
  const auto* module = static_cast<const nvtxExtModuleInfo_t*>(moduleInfo);
  if (!module || module->moduleId != NVTX_EXT_MODULEID_MEM || module->segmentsCount == 0 || !module->segments ||
      !module->segments[0].functionSlots) {
    return false;
  }
  struct Slot {
    size_t id;
    intptr_t function;
  };
  const Slot slots[] = {
      {NVTX3EXT_CBID_nvtxMemHeapRegister, reinterpret_cast<intptr_t>(calls::heapRegister)},
      {NVTX3EXT_CBID_nvtxMemHeapUnregister, reinterpret_cast<intptr_t>(calls::heapUnregister)},
      {NVTX3EXT_CBID_nvtxMemHeapReset, reinterpret_cast<intptr_t>(calls::heapReset)},
      {NVTX3EXT_CBID_nvtxMemRegionsRegister, reinterpret_cast<intptr_t>(calls::regionsRegister)},
      {NVTX3EXT_CBID_nvtxMemRegionsResize, reinterpret_cast<intptr_t>(calls::regionsResize)},
      {NVTX3EXT_CBID_nvtxMemRegionsUnregister, reinterpret_cast<intptr_t>(calls::regionsUnregister)},
      {NVTX3EXT_CBID_nvtxMemRegionsName, reinterpret_cast<intptr_t>(calls::regionsName)},
  };
  // Permissions describe who may touch memory, not what it is: their slots stay empty, and NVTX skips the calls.
  const nvtxExtModuleSegment_t& segment = module->segments[0];
  for (const Slot& slot : slots) {
    if (slot.id < segment.slotCount) {
      segment.functionSlots[slot.id] = slot.function;
    }
  }
  return true;
}

}  // namespace plumb::memory
