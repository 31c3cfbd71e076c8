// SPDX-License-Identifier: Apache-2.0
#include "workloads/nn/nvtx.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>

namespace plumb::nn {
namespace {

struct Work {
  uint64_t flops;
  uint64_t bytes;
};

uint64_t registerWorkSchema() {
  static const nvtxPayloadSchemaEntry_t kEntries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "flops", "floating-point operations", 0, offsetof(Work, flops), nullptr,
       nullptr},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", "bytes moved to and from device memory", 0, offsetof(Work, bytes),
       nullptr, nullptr},
  };
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  attributes.name = "kernel work";
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = kEntries;
  attributes.numEntries = 2;
  attributes.payloadStaticSize = sizeof(Work);
  return nvtxPayloadSchemaRegister(nullptr, &attributes);
}

nvtxEventAttributes_t namedEvent(const char* name) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  return event;
}

}  // namespace

Range::Range(const char* name) { nvtxRangePushA(name); }

Range::Range(const char* name, uint64_t payload) {
  nvtxEventAttributes_t event = namedEvent(name);
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = payload;
  nvtxRangePushEx(&event);
}

Range::~Range() { nvtxRangePop(); }

OperationRange::OperationRange(const char* name, uint64_t flops, uint64_t bytes) {
  static const uint64_t kSchema = registerWorkSchema();
  const Work work{flops, bytes};
  nvtxPayloadData_t data{kSchema, sizeof work, &work};
  nvtxEventAttributes_t event = namedEvent(name);
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;  // number of payloads
  event.payload.ullValue = reinterpret_cast<uintptr_t>(&data);
  nvtxRangePushEx(&event);
}

OperationRange::~OperationRange() { nvtxRangePop(); }

void nameMemory(const void* address, size_t bytes, const std::string& name) {
  const nvtxMemVirtualRangeDesc_t extent{bytes, address};
  nvtxMemRegionsRegisterBatch_t region{};
  region.extCompatID = NVTX_EXT_COMPATID_MEM;
  region.structSize = sizeof region;
  region.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  region.heap = NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE;
  region.regionCount = 1;
  region.regionDescElementSize = sizeof extent;
  region.regionDescElements = &extent;
  nvtxMemRegionsRegister(nullptr, &region);

  nvtxMemRegionNameDesc_t label{};
  label.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  label.nameType = NVTX_MESSAGE_TYPE_ASCII;
  label.region.pointer = address;
  label.name.ascii = name.c_str();
  nvtxMemRegionsNameBatch_t labels{};
  labels.extCompatID = NVTX_EXT_COMPATID_MEM;
  labels.structSize = sizeof labels;
  labels.regionCount = 1;
  labels.regionElementSize = sizeof label;
  labels.regionElements = &label;
  nvtxMemRegionsName(nullptr, &labels);
}

void unnameMemory(const void* address) {
  nvtxMemRegionRef_t reference{};
  reference.pointer = address;
  nvtxMemRegionsUnregisterBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof reference;
  batch.refElements = &reference;
  nvtxMemRegionsUnregister(nullptr, &batch);
}

}  // namespace plumb::nn
