// SPDX-License-Identifier: Apache-2.0
// From the software device's events to CUPTI's records. Pure: no state, no clock.
#pragma once
#include <cupti.h>

#include "workloads/softcuda/cudart/events.h"

namespace softcuda {

// CUPTI's ids of the one device and context.
inline constexpr uint32_t kDeviceId = 0;
inline constexpr uint32_t kContextId = 1;
inline constexpr uint32_t kDefaultStreamId = 7;

CUpti_ActivityKernel10 kernelRecord(const SoftcudaEvent& event, CUpti_ActivityKind kind, int64_t gridId, bool latency);
CUpti_ActivityMemcpy6 copyRecord(const SoftcudaEvent& event);
CUpti_ActivityMemset4 setRecord(const SoftcudaEvent& event);
CUpti_ActivitySynchronization2 synchronizationRecord(const SoftcudaEvent& event);
CUpti_ActivityMemory4 memoryRecord(const SoftcudaEvent& event, uint32_t processId);
// Of an allocation that was released; from its allocation to its release.
CUpti_ActivityMemory lifetimeRecord(const SoftcudaEvent& release, uint64_t allocatedNs, uint32_t processId);
CUpti_ActivityOverhead3 flushRecord(uint64_t start, uint64_t end, uint32_t processId, uint32_t threadId);
CUpti_ActivityMemoryPool3 poolRecord(const SoftcudaEvent& event, uint32_t processId);
CUpti_ActivityCudaEvent2 eventRecord(const SoftcudaEvent& event, uint64_t syncId, bool timestamp);
CUpti_ActivityStream streamRecord(const SoftcudaEvent& event);
CUpti_ActivityAPI apiRecord(const SoftcudaApiCall& call, uint32_t processId, uint32_t threadId);
CUpti_ActivityGraphTrace2 graphRecord(const SoftcudaEvent& event);
CUpti_ActivityContext3 contextRecord(uint16_t multiprocessors);
// name must live as long as the record.
CUpti_ActivityDevice5 deviceRecord(const cudaDeviceProp& properties, const char* name);

}  // namespace softcuda
