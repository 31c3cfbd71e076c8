// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cupti/convert.h"

#include <cstring>
#include <type_traits>

namespace softcuda {
namespace {

// All bytes zero, padding too: records are compared and stored as bytes.
template <class Record>
Record blank(CUpti_ActivityKind kind) {
  static_assert(std::is_trivially_copyable_v<Record>);
  Record record;
  std::memset(static_cast<void*>(&record), 0, sizeof(record));
  record.kind = kind;
  return record;
}

}  // namespace

CUpti_ActivityKernel10 kernelRecord(const SoftcudaEvent& event, CUpti_ActivityKind kind, int64_t gridId, bool latency) {
  auto record = blank<CUpti_ActivityKernel10>(kind);
  record.registersPerThread = static_cast<uint16_t>(event.kernel.registers_per_thread);
  record.start = event.start_ns;
  record.end = event.end_ns;
  record.completed = event.end_ns;
  record.deviceId = kDeviceId;
  record.contextId = kContextId;
  record.streamId = event.stream;
  record.gridX = static_cast<int32_t>(event.kernel.grid[0]);
  record.gridY = static_cast<int32_t>(event.kernel.grid[1]);
  record.gridZ = static_cast<int32_t>(event.kernel.grid[2]);
  record.blockX = static_cast<int32_t>(event.kernel.block[0]);
  record.blockY = static_cast<int32_t>(event.kernel.block[1]);
  record.blockZ = static_cast<int32_t>(event.kernel.block[2]);
  record.staticSharedMemory = static_cast<int32_t>(event.kernel.static_shared_bytes);
  record.dynamicSharedMemory = static_cast<int32_t>(event.kernel.dynamic_shared_bytes);
  record.sharedMemoryExecuted = event.kernel.static_shared_bytes + event.kernel.dynamic_shared_bytes;
  record.correlationId = event.correlation;
  record.gridId = gridId;
  record.graphId = static_cast<uint32_t>(event.graph_id);
  record.graphNodeId = event.graph_node_id;
  record.name = event.kernel.name;
  record.queued = latency ? event.queued_ns : CUPTI_TIMESTAMP_UNKNOWN;
  record.submitted = latency ? event.queued_ns : CUPTI_TIMESTAMP_UNKNOWN;
  record.launchType = event.kernel.cooperative != 0 ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
                                                    : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  return record;
}

CUpti_ActivityMemcpy6 copyRecord(const SoftcudaEvent& event) {
  auto record = blank<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  record.copyKind = event.copy.copy_kind;
  record.srcKind = event.copy.source_kind;
  record.dstKind = event.copy.destination_kind;
  record.flags = (event.flags & 1u) ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.bytes = event.copy.bytes;
  record.start = event.start_ns;
  record.end = event.end_ns;
  record.deviceId = kDeviceId;
  record.contextId = kContextId;
  record.streamId = event.stream;
  record.correlationId = event.correlation;
  record.runtimeCorrelationId = event.correlation;
  record.copyCount = 1;
  record.graphId = static_cast<uint32_t>(event.graph_id);
  record.graphNodeId = event.graph_node_id;
  return record;
}

CUpti_ActivityMemset4 setRecord(const SoftcudaEvent& event) {
  auto record = blank<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  record.value = event.set.value;
  record.bytes = event.set.bytes;
  record.start = event.start_ns;
  record.end = event.end_ns;
  record.deviceId = kDeviceId;
  record.contextId = kContextId;
  record.streamId = event.stream;
  record.correlationId = event.correlation;
  record.flags = (event.flags & 1u) ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.memoryKind = event.set.memory_kind;
  record.graphId = static_cast<uint32_t>(event.graph_id);
  record.graphNodeId = event.graph_node_id;
  return record;
}

CUpti_ActivitySynchronization2 synchronizationRecord(const SoftcudaEvent& event) {
  auto record = blank<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  record.type = static_cast<CUpti_ActivitySynchronizationType>(event.synchronization.type);
  record.start = event.start_ns;
  record.end = event.end_ns;
  record.correlationId = event.correlation;
  record.contextId = kContextId;
  record.streamId = event.stream != 0 ? event.stream : static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  record.cudaEventId = event.synchronization.event_id != 0 ? event.synchronization.event_id
                                                           : static_cast<uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  return record;
}

CUpti_ActivityMemory4 memoryRecord(const SoftcudaEvent& event, uint32_t processId) {
  auto record = blank<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  record.memoryOperationType = static_cast<CUpti_ActivityMemoryOperationType>(event.memory.operation);
  record.memoryKind = static_cast<CUpti_ActivityMemoryKind>(event.memory.memory_kind);
  record.correlationId = event.correlation;
  record.address = event.memory.address;
  record.bytes = event.memory.bytes;
  record.timestamp = event.end_ns;
  record.processId = processId;
  record.deviceId = kDeviceId;
  record.contextId = kContextId;
  record.streamId = event.memory.is_async ? event.stream : static_cast<uint32_t>(CUPTI_INVALID_STREAM_ID);
  record.isAsync = event.memory.is_async;
  if (event.memory.is_async && event.memory.pool_address != 0) {
    record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    record.memoryPoolConfig.address = event.memory.pool_address;
    record.memoryPoolConfig.releaseThreshold = event.memory.pool_release_threshold_bytes;
    record.memoryPoolConfig.pool.size = event.memory.pool_bytes;
    record.memoryPoolConfig.utilizedSize = event.memory.pool_used_bytes;
  }
  return record;
}

CUpti_ActivityMemory lifetimeRecord(const SoftcudaEvent& release, uint64_t allocatedNs, uint32_t processId) {
  auto record = blank<CUpti_ActivityMemory>(CUPTI_ACTIVITY_KIND_MEMORY);
  record.memoryKind = static_cast<CUpti_ActivityMemoryKind>(release.memory.memory_kind);
  record.address = release.memory.address;
  record.bytes = release.memory.bytes;
  record.start = allocatedNs;
  record.end = release.end_ns;
  record.processId = processId;
  record.deviceId = kDeviceId;
  record.contextId = kContextId;
  return record;
}

CUpti_ActivityOverhead3 flushRecord(uint64_t start, uint64_t end, uint32_t processId, uint32_t threadId) {
  auto record = blank<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD);
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = processId;
  record.objectId.pt.threadId = threadId;
  record.start = start;
  record.end = end;
  return record;
}

CUpti_ActivityMemoryPool3 poolRecord(const SoftcudaEvent& event, uint32_t processId) {
  auto record = blank<CUpti_ActivityMemoryPool3>(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  record.memoryPoolOperationType = static_cast<CUpti_ActivityMemoryPoolOperationType>(event.memory.operation);
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.correlationId = event.correlation;
  record.processId = processId;
  record.deviceId = kDeviceId;
  record.minBytesToKeep = event.memory.bytes;
  record.address = event.memory.pool_address;
  record.size = event.memory.pool_bytes;
  record.releaseThreshold = event.memory.pool_release_threshold_bytes;
  record.timestamp = event.end_ns;
  record.utilizedSize = event.memory.pool_used_bytes;
  return record;
}

CUpti_ActivityCudaEvent2 eventRecord(const SoftcudaEvent& event, uint64_t syncId, bool timestamp) {
  auto record = blank<CUpti_ActivityCudaEvent2>(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
  record.correlationId = event.correlation;
  record.contextId = kContextId;
  record.streamId = event.stream;
  record.eventId = event.event_record.event_id;
  record.deviceId = kDeviceId;
  record.deviceTimestamp = timestamp ? event.end_ns : CUPTI_TIMESTAMP_UNKNOWN;
  record.cudaEventSyncId = syncId;
  return record;
}

CUpti_ActivityStream streamRecord(const SoftcudaEvent& event) {
  auto record = blank<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM);
  record.contextId = kContextId;
  record.streamId = event.stream;
  record.priority = static_cast<uint32_t>(event.stream_info.priority);
  record.flag = event.stream == kDefaultStreamId ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL
                : (event.stream_info.cuda_flags & cudaStreamNonBlocking) != 0
                    ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                    : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
  record.correlationId = event.correlation;
  return record;
}

CUpti_ActivityAPI apiRecord(const SoftcudaApiCall& call, uint32_t processId, uint32_t threadId) {
  auto record = blank<CUpti_ActivityAPI>(call.domain == SOFTCUDA_API_DRIVER ? CUPTI_ACTIVITY_KIND_DRIVER
                                                                            : CUPTI_ACTIVITY_KIND_RUNTIME);
  record.cbid = call.cbid;
  record.start = call.start_ns;
  record.end = call.end_ns;
  record.processId = processId;
  record.threadId = threadId;
  record.correlationId = call.correlation;
  record.returnValue = static_cast<uint32_t>(call.result);
  return record;
}

CUpti_ActivityGraphTrace2 graphRecord(const SoftcudaEvent& event) {
  auto record = blank<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  record.correlationId = event.correlation;
  record.start = event.start_ns;
  record.end = event.end_ns;
  record.deviceId = kDeviceId;
  record.graphId = static_cast<uint32_t>(event.graph_id);
  record.contextId = kContextId;
  record.streamId = event.stream;
  record.endDeviceId = kDeviceId;
  record.endContextId = kContextId;
  return record;
}

CUpti_ActivityContext3 contextRecord(uint16_t multiprocessors) {
  auto record = blank<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT);
  record.contextId = kContextId;
  record.deviceId = kDeviceId;
  record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = kDefaultStreamId;
  record.numMultiprocessors = multiprocessors;
  return record;
}

CUpti_ActivityDevice5 deviceRecord(const cudaDeviceProp& p, const char* name) {
  auto record = blank<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE);
  record.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS;
  record.globalMemorySize = p.totalGlobalMem;
  record.constantMemorySize = static_cast<uint32_t>(p.totalConstMem);
  record.l2CacheSize = static_cast<uint32_t>(p.l2CacheSize);
  record.numThreadsPerWarp = static_cast<uint32_t>(p.warpSize);
  record.numMemcpyEngines = static_cast<uint32_t>(p.asyncEngineCount);
  record.numMultiprocessors = static_cast<uint32_t>(p.multiProcessorCount);
  record.maxWarpsPerMultiprocessor = static_cast<uint32_t>(p.maxThreadsPerMultiProcessor / p.warpSize);
  record.maxBlocksPerMultiprocessor = static_cast<uint32_t>(p.maxBlocksPerMultiProcessor);
  record.maxSharedMemoryPerMultiprocessor = static_cast<uint32_t>(p.sharedMemPerMultiprocessor);
  record.maxRegistersPerMultiprocessor = static_cast<uint32_t>(p.regsPerMultiprocessor);
  record.maxRegistersPerBlock = static_cast<uint32_t>(p.regsPerBlock);
  record.maxSharedMemoryPerBlock = static_cast<uint32_t>(p.sharedMemPerBlock);
  record.maxThreadsPerBlock = static_cast<uint32_t>(p.maxThreadsPerBlock);
  record.maxBlockDimX = static_cast<uint32_t>(p.maxThreadsDim[0]);
  record.maxBlockDimY = static_cast<uint32_t>(p.maxThreadsDim[1]);
  record.maxBlockDimZ = static_cast<uint32_t>(p.maxThreadsDim[2]);
  record.maxGridDimX = static_cast<uint32_t>(p.maxGridSize[0]);
  record.maxGridDimY = static_cast<uint32_t>(p.maxGridSize[1]);
  record.maxGridDimZ = static_cast<uint32_t>(p.maxGridSize[2]);
  record.computeCapabilityMajor = static_cast<uint32_t>(p.major);
  record.computeCapabilityMinor = static_cast<uint32_t>(p.minor);
  record.id = kDeviceId;
  std::memcpy(&record.uuid, &p.uuid, sizeof(record.uuid));
  record.name = name;
  record.isCudaVisible = 1;
  return record;
}

}  // namespace softcuda
