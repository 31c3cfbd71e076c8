// SPDX-License-Identifier: Apache-2.0
// The activity API.
#include <cupti.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "workloads/softcuda/cupti/tracer.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

// Attributes that only tune the real library's device buffers are kept, so that they read back as they were set.
struct Attributes {
  std::mutex mutex;
  std::array<std::size_t, 11> sizes = {3200000, 0, 250, 65536, 250, 0, 3, 3, 0, 1, 0};
};
Attributes& attributes() {
  static auto* instance = new Attributes;
  return *instance;
}

std::size_t attributeBytes(uint32_t attr) {
  switch (attr) {
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
    case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
      return sizeof(uint8_t);
    default:
      return sizeof(std::size_t);
  }
}

CUptiResult checkAttribute(uint32_t attr, const std::size_t* valueSize, const void* value) {
  if (!valueSize || !value || attr >= attributes().sizes.size()) return CUPTI_ERROR_INVALID_PARAMETER;
  return *valueSize < attributeBytes(attr) ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT : CUPTI_SUCCESS;
}

CUptiResult selectApi(uint32_t domain, CUpti_CallbackId cbid, bool enable) {
  if (cbid == 0 || cbid >= kCallbackIds) return CUPTI_ERROR_INVALID_PARAMETER;
  Tracer& tracer = Tracer::instance();
  tracer.apiSelection(domain).set(cbid, enable);
  if (enable) tracer.apiSelectionChanged(domain, true);
  return CUPTI_SUCCESS;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

extern "C" {

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (!timestamp) return CUPTI_ERROR_INVALID_PARAMETER;
  *timestamp = softcuda_now();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp) {
  if (!funcTimestamp) return CUPTI_ERROR_INVALID_PARAMETER;
  Tracer::instance().timestamp = funcTimestamp;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) { return Tracer::instance().enableKind(kind, true); }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { return Tracer::instance().enableKind(kind, false); }
CUptiResult cuptiActivityEnableContext(CUcontext, CUpti_ActivityKind kind) { return cuptiActivityEnable(kind); }
CUptiResult cuptiActivityDisableContext(CUcontext, CUpti_ActivityKind kind) { return cuptiActivityDisable(kind); }
CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) { return cuptiActivityEnable(kind); }

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                           CUpti_BuffersCallbackCompleteFunc funcBufferCompleted) {
  if (!funcBufferRequested || !funcBufferCompleted) return CUPTI_ERROR_INVALID_PARAMETER;
  Tracer::instance().buffers().setCallbacks(funcBufferRequested, funcBufferCompleted);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  Tracer::instance().flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) { return cuptiActivityFlushAll(flag); }

// Full buffers are given back at once, so there is nothing left to do periodically.
CUptiResult cuptiActivityFlushPeriod(uint32_t) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t validBufferSizeBytes, CUpti_Activity** record) {
  if (!buffer || !record) return CUPTI_ERROR_INVALID_PARAMETER;
  const uint8_t* next = buffer;
  if (*record) {
    const std::size_t bytes = recordBytes((*record)->kind);
    if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    next = reinterpret_cast<const uint8_t*>(*record) + bytes;
  }
  if (next >= buffer + validBufferSizeBytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* found = const_cast<CUpti_Activity*>(reinterpret_cast<const CUpti_Activity*>(next));
  if (recordBytes(found->kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = found;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (!dropped) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = Tracer::instance().buffers().takeDropped();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t* valueSize, void* value) {
  if (const CUptiResult result = checkAttribute(attr, valueSize, value); result != CUPTI_SUCCESS) return result;
  Attributes& all = attributes();
  std::lock_guard lock(all.mutex);
  std::memcpy(value, &all.sizes[attr], attributeBytes(attr));  // little-endian
  *valueSize = attributeBytes(attr);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t* valueSize, void* value) {
  if (const CUptiResult result = checkAttribute(attr, valueSize, value); result != CUPTI_SUCCESS) return result;
  Attributes& all = attributes();
  std::lock_guard lock(all.mutex);
  all.sizes[attr] = 0;
  std::memcpy(&all.sizes[attr], value, attributeBytes(attr));
  if (attr == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
    Tracer::instance().buffers().setPerThread(all.sizes[attr] != 0);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  Tracer::instance().threadIdType = type;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  if (!type) return CUPTI_ERROR_INVALID_PARAMETER;
  *type = Tracer::instance().threadIdType;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  return pushExternalId(kind, id);
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* lastId) {
  return popExternalId(kind, lastId);
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
  return selectApi(SOFTCUDA_API_RUNTIME, cbid, enable != 0);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
  return selectApi(SOFTCUDA_API_DRIVER, cbid, enable != 0);
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  Tracer::instance().latencyTimestamps = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable) {
  Tracer::instance().eventTimestamps = enable != 0;
  return CUPTI_SUCCESS;
}

// Nothing of this exists here; switching it on is harmless.
CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableDeviceGraph(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableAllocationSource(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*, uint32_t) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableHWTrace(uint8_t enable) { return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS; }

CUptiResult cuptiFinalize(void) {
  Tracer& tracer = Tracer::instance();
  tracer.disableAll();
  tracer.buffers().flush();
  tracer.unsubscribeAll();
  return CUPTI_SUCCESS;
}
}
