// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/convert.h"

#include <cstring>

namespace plumb::cupti {
namespace {

constexpr uint32_t kNoThread = 0;  // device work belongs to a stream, not to a thread
constexpr uint32_t kNone = UINT32_MAX;
constexpr uint32_t kAsync = 1;  // CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC
constexpr uint64_t kUnitsPerKilo = 1000;

template <class Out, class In>
void setWork(Out& out, const In& in) noexcept {
  out.start_ns = static_cast<int64_t>(in.start);
  out.end_ns = static_cast<int64_t>(in.end);
  out.graph_node_id = in.graphNodeId;
  out.graph_id = in.graphId;
  out.correlation = in.correlationId;
  out.device_ordinal = in.deviceId;
  out.context = in.contextId;
  out.stream = in.streamId;
  out.flags = timeFlags(in.start, in.end) | (in.graphId ? kEventFromGraph : 0);
}

template <class In>
MemoryCopyRecord convertCopy(const In& in, Clock clock) noexcept {
  MemoryCopyRecord out{};
  out.header = makeHeader<MemoryCopyRecord>(RecordKind::kMemoryCopy, kNoThread, clock);
  setWork(out, in);
  out.bytes = in.bytes;
  out.copy_kind = in.copyKind;
  out.source_kind = in.srcKind;
  out.target_kind = in.dstKind;
  out.is_async = in.flags & kAsync;
  return out;
}

}  // namespace

uint32_t timeFlags(uint64_t start, uint64_t end) noexcept {
  const bool usable = start != 0 && end != 0 && end >= start && end <= static_cast<uint64_t>(INT64_MAX);
  return usable ? 0 : kEventNoTime;
}

KernelRecord convertKernel(const abi::Kernel& in, StringId name, Clock clock) noexcept {
  KernelRecord out{};
  out.header = makeHeader<KernelRecord>(RecordKind::kKernel, kNoThread, clock);
  setWork(out, in);
  out.name = name;
  out.grid[0] = in.gridX;
  out.grid[1] = in.gridY;
  out.grid[2] = in.gridZ;
  out.block[0] = in.blockX;
  out.block[1] = in.blockY;
  out.block[2] = in.blockZ;
  out.registers_per_thread = in.registersPerThread;
  out.static_shared_bytes = static_cast<uint32_t>(in.staticSharedMemory);
  out.dynamic_shared_bytes = static_cast<uint32_t>(in.dynamicSharedMemory);
  out.local_bytes_per_thread = in.localMemoryPerThread;
  return out;
}

MemoryCopyRecord convertMemcpy(const abi::Memcpy& in, Clock clock) noexcept { return convertCopy(in, clock); }
MemoryCopyRecord convertMemcpyPeer(const abi::MemcpyPeer& in, Clock clock) noexcept { return convertCopy(in, clock); }

MemorySetRecord convertMemset(const abi::Memset& in, Clock clock) noexcept {
  MemorySetRecord out{};
  out.header = makeHeader<MemorySetRecord>(RecordKind::kMemorySet, kNoThread, clock);
  setWork(out, in);
  out.bytes = in.bytes;
  out.value = in.value;
  out.memory_kind = in.memoryKind;
  out.is_async = in.flags & kAsync;
  return out;
}

ApiCallRecord convertApi(const abi::Api& in, StringId name, Clock clock) noexcept {
  ApiCallRecord out{};
  out.header = makeHeader<ApiCallRecord>(RecordKind::kApiCall, in.threadId, clock);
  out.start_ns = static_cast<int64_t>(in.start);
  out.end_ns = static_cast<int64_t>(in.end);
  out.name = name;
  out.layer = in.kind == abi::kDriver ? 1 : 0;
  out.correlation = in.correlationId;
  out.result = static_cast<int32_t>(in.returnValue);
  return out;
}

SynchronizationRecord convertSynchronization(const abi::Synchronization& in, Clock clock) noexcept {
  SynchronizationRecord out{};
  out.header = makeHeader<SynchronizationRecord>(RecordKind::kSynchronization, kNoThread, clock);
  out.start_ns = static_cast<int64_t>(in.start);
  out.end_ns = static_cast<int64_t>(in.end);
  out.kind = in.type;
  out.correlation = in.correlationId;
  out.context = in.contextId;
  out.stream = in.streamId;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE is UINT32_MAX, too
  out.event_id = in.cudaEventId;
  return out;
}

MemorySpace convertMemoryKind(uint32_t cuptiMemoryKind) noexcept {
  switch (cuptiMemoryKind) {
    case 1:
      return MemorySpace::kPageable;
    case 2:
      return MemorySpace::kPinned;
    case 3:
    case 4:
      return MemorySpace::kDevice;  // an array
    case 5:
    case 7:
      return MemorySpace::kManaged;
    case 6:
      return MemorySpace::kDeviceStatic;
    default:
      return MemorySpace::kUnknown;
  }
}

AllocationRecord convertMemory(const abi::Memory& in, Clock clock) noexcept {
  constexpr uint32_t kRelease = 2;
  AllocationRecord out{};
  out.header = makeHeader<AllocationRecord>(RecordKind::kAllocation, kNoThread, clock);
  out.time_ns = static_cast<int64_t>(in.timestamp);
  out.address = in.address;
  out.bytes = in.bytes;
  out.is_free = in.operation == kRelease ? 1 : 0;
  out.space = convertMemoryKind(in.memoryKind);
  out.device_ordinal = in.deviceId;
  out.context = in.contextId;
  out.stream = in.isAsync ? in.streamId : kNone;
  out.from_pool = in.isAsync && in.poolType ? 1 : 0;
  out.correlation = in.correlationId;
  return out;
}

CorrelationLinkRecord convertExternalCorrelation(const abi::ExternalCorrelation& in) noexcept {
  CorrelationLinkRecord out{};
  out.header = makeHeader<CorrelationLinkRecord>(RecordKind::kCorrelationLink, kNoThread);
  out.external_id = in.externalId;
  out.correlation = in.correlationId;
  return out;
}

DeviceRecord convertDevice(const abi::Device& in, StringId name) noexcept {
  DeviceRecord out{};
  out.header = makeHeader<DeviceRecord>(RecordKind::kDevice, kNoThread);
  out.name = name;
  memcpy(out.uuid, in.uuid, sizeof out.uuid);
  out.memory_bytes = in.globalMemorySize;
  out.memory_bandwidth_bytes_per_s = in.globalMemoryBandwidth * kUnitsPerKilo;
  out.core_clock_hz = in.coreClockRate * kUnitsPerKilo;
  out.ordinal = in.id;
  const bool isSoftware = in.name && strcmp(in.name, kSoftwareDeviceName) == 0;
  out.kind = isSoftware ? DeviceKind::kSoftware : DeviceKind::kGpu;
  out.compute_major = in.computeCapabilityMajor;
  out.compute_minor = in.computeCapabilityMinor;
  out.multiprocessor_count = in.numMultiprocessors;
  out.max_threads_per_multiprocessor = in.maxWarpsPerMultiprocessor * in.numThreadsPerWarp;
  return out;
}

StreamRecord convertStream(const abi::Stream& in, uint32_t deviceOrdinal) noexcept {
  StreamRecord out{};
  out.header = makeHeader<StreamRecord>(RecordKind::kStream, kNoThread);
  out.context = in.contextId;
  out.number = in.streamId;
  out.device_ordinal = deviceOrdinal;
  out.priority = static_cast<int32_t>(in.priority);
  out.kind = in.flag;
  return out;
}

}  // namespace plumb::cupti
