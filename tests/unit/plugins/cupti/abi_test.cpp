// SPDX-License-Identifier: Apache-2.0
// Our prefix structs against the CUDA headers we build with: every field where CUPTI has it.
#include "plugins/cupti/cupti_abi.h"

#include <cupti.h>

#include <cstddef>

#include <gtest/gtest.h>

namespace plumb::cupti {
namespace {

#define PLUMB_SAME(ours, theirs, field, theirField)                          \
  static_assert(offsetof(abi::ours, field) == offsetof(theirs, theirField)); \
  static_assert(sizeof(abi::ours::field) == sizeof(theirs::theirField))

PLUMB_SAME(Kernel, CUpti_ActivityKernel10, registersPerThread, registersPerThread);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, start, start);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, end, end);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, deviceId, deviceId);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, contextId, contextId);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, streamId, streamId);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, gridX, gridX);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, blockZ, blockZ);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, staticSharedMemory, staticSharedMemory);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, dynamicSharedMemory, dynamicSharedMemory);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, localMemoryPerThread, localMemoryPerThread);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, correlationId, correlationId);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, name, name);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, graphNodeId, graphNodeId);
PLUMB_SAME(Kernel, CUpti_ActivityKernel10, graphId, graphId);
// The kernel record of CUDA 12.0 to 12.9 has the same prefix.
PLUMB_SAME(Kernel, CUpti_ActivityKernel9, correlationId, correlationId);
PLUMB_SAME(Kernel, CUpti_ActivityKernel9, graphId, graphId);

PLUMB_SAME(Memcpy, CUpti_ActivityMemcpy6, copyKind, copyKind);
PLUMB_SAME(Memcpy, CUpti_ActivityMemcpy6, flags, flags);
PLUMB_SAME(Memcpy, CUpti_ActivityMemcpy6, bytes, bytes);
PLUMB_SAME(Memcpy, CUpti_ActivityMemcpy6, start, start);
PLUMB_SAME(Memcpy, CUpti_ActivityMemcpy6, streamId, streamId);
PLUMB_SAME(Memcpy, CUpti_ActivityMemcpy6, correlationId, correlationId);
PLUMB_SAME(Memcpy, CUpti_ActivityMemcpy6, graphNodeId, graphNodeId);
PLUMB_SAME(Memcpy, CUpti_ActivityMemcpy6, graphId, graphId);

PLUMB_SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, bytes, bytes);
PLUMB_SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, correlationId, correlationId);
PLUMB_SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, graphNodeId, graphNodeId);
PLUMB_SAME(MemcpyPeer, CUpti_ActivityMemcpyPtoP4, graphId, graphId);

PLUMB_SAME(Memset, CUpti_ActivityMemset4, value, value);
PLUMB_SAME(Memset, CUpti_ActivityMemset4, bytes, bytes);
PLUMB_SAME(Memset, CUpti_ActivityMemset4, correlationId, correlationId);
PLUMB_SAME(Memset, CUpti_ActivityMemset4, flags, flags);
PLUMB_SAME(Memset, CUpti_ActivityMemset4, memoryKind, memoryKind);
PLUMB_SAME(Memset, CUpti_ActivityMemset4, graphNodeId, graphNodeId);
PLUMB_SAME(Memset, CUpti_ActivityMemset4, graphId, graphId);

static_assert(sizeof(abi::Api) == sizeof(CUpti_ActivityAPI));
PLUMB_SAME(Api, CUpti_ActivityAPI, cbid, cbid);
PLUMB_SAME(Api, CUpti_ActivityAPI, start, start);
PLUMB_SAME(Api, CUpti_ActivityAPI, threadId, threadId);
PLUMB_SAME(Api, CUpti_ActivityAPI, correlationId, correlationId);
PLUMB_SAME(Api, CUpti_ActivityAPI, returnValue, returnValue);

PLUMB_SAME(Device, CUpti_ActivityDevice5, globalMemoryBandwidth, globalMemoryBandwidth);
PLUMB_SAME(Device, CUpti_ActivityDevice5, globalMemorySize, globalMemorySize);
PLUMB_SAME(Device, CUpti_ActivityDevice5, numThreadsPerWarp, numThreadsPerWarp);
PLUMB_SAME(Device, CUpti_ActivityDevice5, coreClockRate, coreClockRate);
PLUMB_SAME(Device, CUpti_ActivityDevice5, numMultiprocessors, numMultiprocessors);
PLUMB_SAME(Device, CUpti_ActivityDevice5, maxWarpsPerMultiprocessor, maxWarpsPerMultiprocessor);
PLUMB_SAME(Device, CUpti_ActivityDevice5, computeCapabilityMajor, computeCapabilityMajor);
PLUMB_SAME(Device, CUpti_ActivityDevice5, id, id);
PLUMB_SAME(Device, CUpti_ActivityDevice5, uuid, uuid);
PLUMB_SAME(Device, CUpti_ActivityDevice5, name, name);

PLUMB_SAME(Context, CUpti_ActivityContext3, contextId, contextId);
PLUMB_SAME(Context, CUpti_ActivityContext3, deviceId, deviceId);
PLUMB_SAME(Stream, CUpti_ActivityStream, contextId, contextId);
PLUMB_SAME(Stream, CUpti_ActivityStream, streamId, streamId);
PLUMB_SAME(Stream, CUpti_ActivityStream, priority, priority);
PLUMB_SAME(Stream, CUpti_ActivityStream, flag, flag);

PLUMB_SAME(Synchronization, CUpti_ActivitySynchronization2, type, type);
PLUMB_SAME(Synchronization, CUpti_ActivitySynchronization2, start, start);
PLUMB_SAME(Synchronization, CUpti_ActivitySynchronization2, correlationId, correlationId);
PLUMB_SAME(Synchronization, CUpti_ActivitySynchronization2, streamId, streamId);
PLUMB_SAME(Synchronization, CUpti_ActivitySynchronization2, cudaEventId, cudaEventId);

PLUMB_SAME(Memory, CUpti_ActivityMemory4, operation, memoryOperationType);
PLUMB_SAME(Memory, CUpti_ActivityMemory4, memoryKind, memoryKind);
PLUMB_SAME(Memory, CUpti_ActivityMemory4, address, address);
PLUMB_SAME(Memory, CUpti_ActivityMemory4, timestamp, timestamp);
PLUMB_SAME(Memory, CUpti_ActivityMemory4, streamId, streamId);
PLUMB_SAME(Memory, CUpti_ActivityMemory4, isAsync, isAsync);
PLUMB_SAME(Memory, CUpti_ActivityMemory4, poolType, memoryPoolConfig.memoryPoolType);

PLUMB_SAME(ExternalCorrelation, CUpti_ActivityExternalCorrelation, externalKind, externalKind);
PLUMB_SAME(ExternalCorrelation, CUpti_ActivityExternalCorrelation, externalId, externalId);
PLUMB_SAME(ExternalCorrelation, CUpti_ActivityExternalCorrelation, correlationId, correlationId);

TEST(CuptiAbi, KindsAreThoseOfTheHeaders) {
  EXPECT_EQ(abi::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(abi::kMemcpyPeer, CUPTI_ACTIVITY_KIND_MEMCPY2);
  EXPECT_EQ(abi::kMemory, CUPTI_ACTIVITY_KIND_MEMORY2);
  EXPECT_EQ(abi::kSynchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  EXPECT_EQ(abi::kExternalCorrelation, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
}

}  // namespace
}  // namespace plumb::cupti
