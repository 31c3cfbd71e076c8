// SPDX-License-Identifier: Apache-2.0
#include "plugins/nvtx/attach.h"

#include "plugins/nvtx/calls.h"

namespace plumb::nvtx {
namespace {

struct Slot {
  unsigned id;
  NvtxFunctionPointer function;
};

template <class Function>
NvtxFunctionPointer generic(Function* function) noexcept {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

bool fill(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module, const Slot* slots,
          size_t count) noexcept {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks.GetModuleFunctionTable(module, &table, &size) || !table) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (slots[i].id < size && table[slots[i].id]) {
      *table[slots[i].id] = slots[i].function;
    }
  }
  return true;
}

}  // namespace

bool attachCore(void* exportTable) noexcept {
  const auto get = reinterpret_cast<NvtxGetExportTableFunc_t>(exportTable);
  const auto* callbacks = get ? static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS)) : nullptr;
  if (!callbacks || !callbacks->GetModuleFunctionTable) {
    return false;
  }
  const Slot core[] = {
      {NVTX_CBID_CORE_MarkEx, generic(calls::markEx)},
      {NVTX_CBID_CORE_MarkA, generic(calls::markA)},
      {NVTX_CBID_CORE_MarkW, generic(calls::markW)},
      {NVTX_CBID_CORE_RangeStartEx, generic(calls::rangeStartEx)},
      {NVTX_CBID_CORE_RangeStartA, generic(calls::rangeStartA)},
      {NVTX_CBID_CORE_RangeStartW, generic(calls::rangeStartW)},
      {NVTX_CBID_CORE_RangeEnd, generic(calls::rangeEnd)},
      {NVTX_CBID_CORE_RangePushEx, generic(calls::rangePushEx)},
      {NVTX_CBID_CORE_RangePushA, generic(calls::rangePushA)},
      {NVTX_CBID_CORE_RangePushW, generic(calls::rangePushW)},
      {NVTX_CBID_CORE_RangePop, generic(calls::rangePop)},
      {NVTX_CBID_CORE_NameCategoryA, generic(calls::nameCategoryA)},
      {NVTX_CBID_CORE_NameCategoryW, generic(calls::nameCategoryW)},
      {NVTX_CBID_CORE_NameOsThreadA, generic(calls::nameOsThreadA)},
      {NVTX_CBID_CORE_NameOsThreadW, generic(calls::nameOsThreadW)},
  };
  const Slot core2[] = {
      {NVTX_CBID_CORE2_DomainMarkEx, generic(calls::domainMarkEx)},
      {NVTX_CBID_CORE2_DomainRangeStartEx, generic(calls::domainRangeStartEx)},
      {NVTX_CBID_CORE2_DomainRangeEnd, generic(calls::domainRangeEnd)},
      {NVTX_CBID_CORE2_DomainRangePushEx, generic(calls::domainRangePushEx)},
      {NVTX_CBID_CORE2_DomainRangePop, generic(calls::domainRangePop)},
      {NVTX_CBID_CORE2_DomainResourceCreate, generic(calls::domainResourceCreate)},
      {NVTX_CBID_CORE2_DomainResourceDestroy, generic(calls::domainResourceDestroy)},
      {NVTX_CBID_CORE2_DomainNameCategoryA, generic(calls::domainNameCategoryA)},
      {NVTX_CBID_CORE2_DomainNameCategoryW, generic(calls::domainNameCategoryW)},
      {NVTX_CBID_CORE2_DomainRegisterStringA, generic(calls::domainRegisterStringA)},
      {NVTX_CBID_CORE2_DomainRegisterStringW, generic(calls::domainRegisterStringW)},
      {NVTX_CBID_CORE2_DomainCreateA, generic(calls::domainCreateA)},
      {NVTX_CBID_CORE2_DomainCreateW, generic(calls::domainCreateW)},
      {NVTX_CBID_CORE2_DomainDestroy, generic(calls::domainDestroy)},
      {NVTX_CBID_CORE2_Initialize, generic(calls::initialize)},
  };
  const bool attached = fill(*callbacks, NVTX_CB_MODULE_CORE, core, sizeof core / sizeof *core);
  // Very old NVTX 3 headers have no domains: the plain functions alone are still worth having.
  fill(*callbacks, NVTX_CB_MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
  return attached;
}

bool attachPayloadExtension(void* moduleInfo) noexcept {
  const auto* module = static_cast<const nvtxExtModuleInfo_t*>(moduleInfo);
  if (!module || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segmentsCount == 0 || !module->segments ||
      !module->segments[0].functionSlots) {
    return false;
  }
  const Slot slots[] = {
      {NVTX3EXT_CBID_nvtxPayloadSchemaRegister, generic(calls::payloadSchemaRegister)},
      {NVTX3EXT_CBID_nvtxPayloadEnumRegister, generic(calls::payloadEnumRegister)},
      {NVTX3EXT_CBID_nvtxMarkPayload, generic(calls::markPayload)},
      {NVTX3EXT_CBID_nvtxRangePushPayload, generic(calls::rangePushPayload)},
      {NVTX3EXT_CBID_nvtxRangePopPayload, generic(calls::rangePopPayload)},
      {NVTX3EXT_CBID_nvtxRangeStartPayload, generic(calls::rangeStartPayload)},
      {NVTX3EXT_CBID_nvtxRangeEndPayload, generic(calls::rangeEndPayload)},
      {NVTX3EXT_CBID_nvtxDomainIsEnabled, generic(calls::domainIsEnabled)},
  };
  // The compatibility id differs between programs of one process (NCCL brings its own headers): the slot count decides.
  const nvtxExtModuleSegment_t& segment = module->segments[0];
  for (const Slot& slot : slots) {
    if (slot.id < segment.slotCount) {
      segment.functionSlots[slot.id] = reinterpret_cast<intptr_t>(slot.function);
    }
  }
  return true;
}

}  // namespace plumb::nvtx
