// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/memory.h"
#include "workloads/softcuda/cudart/stream.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

constexpr uint32_t kAllocation = 1;  // CUpti_ActivityMemoryOperationType
constexpr uint32_t kRelease = 2;
constexpr uint32_t kPoolCreated = 1;  // CUpti_ActivityMemoryPoolOperationType
constexpr uint32_t kPoolDestroyed = 2;
constexpr uint32_t kPoolTrimmed = 3;

std::atomic<cudaMemPool_t> g_currentPool{nullptr};  // of the device; null: the default one
cudaMemPool_t currentPool() {
  const cudaMemPool_t pool = g_currentPool;
  return pool && isPool(pool) ? pool : defaultPool();
}

void fillPool(SoftcudaEvent& event, cudaMemPool_t pool) {
  const PoolState state = poolState(pool);
  event.memory.pool_address = reinterpret_cast<uint64_t>(pool);
  event.memory.pool_bytes = state.reservedBytes;
  event.memory.pool_used_bytes = state.usedBytes;
  event.memory.pool_release_threshold_bytes = releaseThreshold(pool);
}

void emitPool(const ApiCall& call, uint32_t operation, cudaMemPool_t pool, std::size_t keptBytes = 0) {
  if (!observed()) return;
  SoftcudaEvent event{};
  event.kind = SOFTCUDA_EVENT_MEMORY_POOL;
  event.correlation = call.correlation();
  event.start_ns = event.end_ns = softcuda_now();
  event.memory.operation = operation;
  event.memory.bytes = keptBytes;
  fillPool(event, pool);
  emit(event);
}

void emitMemory(const ApiCall& call, uint32_t operation, const void* address, std::size_t bytes, MemoryKind kind,
                const Stream* asyncStream = nullptr, cudaMemPool_t pool = nullptr) {
  if (!observed()) return;
  SoftcudaEvent event{};
  event.kind = SOFTCUDA_EVENT_MEMORY;
  event.correlation = call.correlation();
  event.start_ns = event.end_ns = softcuda_now();
  event.memory.address = reinterpret_cast<uint64_t>(address);
  event.memory.bytes = bytes;
  event.memory.operation = operation;
  event.memory.memory_kind = kind;
  if (asyncStream) {
    event.stream = asyncStream->id();
    event.memory.is_async = 1;
    if (pool) fillPool(event, pool);
  }
  emit(event);
}

cudaError_t allocate(const ApiCall& call, Heap& heap, MemoryKind kind, void** pointer, std::size_t bytes) {
  if (!pointer) return cudaErrorInvalidValue;
  if (captureForbidsThisCall()) return cudaErrorStreamCaptureUnsupported;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = heap.allocate(bytes, kind);
  if (!*pointer) return cudaErrorMemoryAllocation;
  emitMemory(call, kAllocation, *pointer, bytes, kind);
  return cudaSuccess;
}

cudaError_t release(const ApiCall& call, Heap& heap, void* pointer) {
  if (!pointer) return cudaSuccess;
  const auto found = heap.find(pointer);
  if (!found || found->address != pointer) return cudaErrorInvalidValue;
  if (captureForbidsThisCall()) return cudaErrorStreamCaptureUnsupported;
  synchronizeAll();                               // as the real one does
  if (ownedByGraph(pointer)) return cudaSuccess;  // stays until the graph goes
  const auto pooled = forgetPooled(pointer);
  const auto block = heap.free(pointer);
  if (!block) return cudaErrorInvalidValue;
  emitMemory(call, kRelease, pointer, pooled.value_or(block->bytes), static_cast<MemoryKind>(block->label));
  return cudaSuccess;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

extern "C" {

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  return SOFTCUDA_CALL(cudaMalloc, v3020, { return allocate(call, deviceHeap(), kDevice, devPtr, size); });
}

cudaError_t cudaFree(void* devPtr) {
  return SOFTCUDA_CALL(cudaFree, v3020, { return release(call, deviceHeap(), devPtr); });
}

cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  return SOFTCUDA_CALL(cudaMallocManaged, v6000, {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
    if (size == 0) return cudaErrorInvalidValue;
    return allocate(call, deviceHeap(), kManaged, devPtr, size);
  });
}

cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  return SOFTCUDA_CALL(cudaMallocPitch, v3020, {
    if (!pitch) return cudaErrorInvalidValue;
    *pitch = Heap::rounded(width);
    return allocate(call, deviceHeap(), kDevice, devPtr, *pitch * height);
  });
}

cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return SOFTCUDA_CALL(cudaMallocHost, v3020, { return allocate(call, pinnedHeap(), kPinned, ptr, size); });
}

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int) {
  return SOFTCUDA_CALL(cudaHostAlloc, v3020, { return allocate(call, pinnedHeap(), kPinned, pHost, size); });
}

cudaError_t cudaFreeHost(void* ptr) {
  return SOFTCUDA_CALL(cudaFreeHost, v3020, { return release(call, pinnedHeap(), ptr); });
}

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int) {
  return SOFTCUDA_CALL(cudaHostRegister, v4000, {
    if (!ptr || size == 0) return cudaErrorInvalidValue;
    if (captureForbidsThisCall()) return cudaErrorStreamCaptureUnsupported;
    return registerHost(ptr, size) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* ptr) {
  return SOFTCUDA_CALL(cudaHostUnregister, v4000,
                       { return unregisterHost(ptr) ? cudaSuccess : cudaErrorHostMemoryNotRegistered; });
}

cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
  return SOFTCUDA_CALL(cudaHostGetDevicePointer, v3020, {
    if (!pDevice || flags != 0 || classify(pHost, 1).kind != kPinned) return cudaErrorInvalidValue;
    *pDevice = pHost;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
  return SOFTCUDA_CALL(cudaHostGetFlags, v3020, {
    if (!pFlags || classify(pHost, 1).kind != kPinned) return cudaErrorInvalidValue;
    *pFlags = cudaHostAllocMapped;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return SOFTCUDA_CALL(cudaMemGetInfo, v3020, {
    if (!free || !total) return cudaErrorInvalidValue;
    *total = deviceHeap().capacity();
    *free = deviceHeap().capacity() - deviceHeap().usedBytes();
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  return SOFTCUDA_CALL(cudaPointerGetAttributes, v4000, {
    if (!attributes) return cudaErrorInvalidValue;
    *attributes = {};
    const MemoryKind kind = classify(ptr, 1).kind;
    attributes->type = kind == kDevice    ? cudaMemoryTypeDevice
                       : kind == kManaged ? cudaMemoryTypeManaged
                       : kind == kPinned  ? cudaMemoryTypeHost
                                          : cudaMemoryTypeUnregistered;
    attributes->device = kind == kPageable ? cudaInvalidDeviceId : 0;
    attributes->devicePointer = kind == kPageable ? nullptr : const_cast<void*>(ptr);
    attributes->hostPointer = kind == kDevice || kind == kPageable ? nullptr : const_cast<void*>(ptr);
    return cudaSuccess;
  });
}

// --- stream-ordered allocation

static cudaError_t allocateAsync(ApiCall& call, void** devPtr, size_t size, cudaMemPool_t pool, cudaStream_t handle) {
  if (!devPtr) return cudaErrorInvalidValue;
  const StreamRef stream = findStream(handle);
  if (const cudaError_t error = refuseWork(stream)) return error;
  *devPtr = nullptr;
  if (size == 0) return cudaSuccess;
  if (stream->capture()) {
    auto memory = allocateForGraph(size);
    if (!memory) return cudaErrorMemoryAllocation;
    *devPtr = memory.get();
    submit(*stream, cudaGraphNodeTypeMemAlloc, [memory = std::move(memory)](Stream&) {});
    return cudaSuccess;
  }
  *devPtr = allocateOnStream(size, *stream, pool);
  if (!*devPtr) return cudaErrorMemoryAllocation;
  emitMemory(call, kAllocation, *devPtr, size, kDevice, &*stream, pool);
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  return SOFTCUDA_CALL(cudaMallocAsync, v11020, { return allocateAsync(call, devPtr, size, currentPool(), hStream); });
}

cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaMallocFromPoolAsync, v11020, {
    if (!isPool(memPool)) return cudaErrorInvalidValue;
    return allocateAsync(call, ptr, size, memPool, stream);
  });
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  return SOFTCUDA_CALL(cudaFreeAsync, v11020, {
    const StreamRef stream = findStream(hStream);
    if (const cudaError_t error = refuseWork(stream)) return error;
    if (!devPtr) return cudaSuccess;
    const bool ofGraph = ownedByGraph(devPtr);
    if (stream->capture() && !ofGraph) return cudaErrorInvalidValue;
    if (ofGraph) {
      submit(*stream, cudaGraphNodeTypeMemFree, [](Stream&) {});
      return cudaSuccess;
    }
    const auto freed = freeOnStream(devPtr, *stream);
    if (!freed) return cudaErrorInvalidValue;
    emitMemory(call, kRelease, devPtr, freed->bytes, kDevice, &*stream, freed->pool);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device) {
  return SOFTCUDA_CALL(cudaDeviceGetDefaultMemPool, v11020, {
    if (!memPool) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    *memPool = defaultPool();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device) {
  return SOFTCUDA_CALL(cudaDeviceGetMemPool, v11020, {
    if (!memPool) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    *memPool = currentPool();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
  return SOFTCUDA_CALL(cudaDeviceSetMemPool, v11020, {
    if (device != 0) return cudaErrorInvalidDevice;
    if (!isPool(memPool)) return cudaErrorInvalidValue;
    g_currentPool = memPool;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool, const cudaMemPoolProps* poolProps) {
  return SOFTCUDA_CALL(cudaMemPoolCreate, v11020, {
    if (!memPool || !poolProps) return cudaErrorInvalidValue;
    if (poolProps->allocType != cudaMemAllocationTypePinned || poolProps->location.type != cudaMemLocationTypeDevice ||
        poolProps->location.id != 0) {
      return cudaErrorInvalidValue;
    }
    if (poolProps->handleTypes != cudaMemHandleTypeNone)
      return softcuda_unsupported("a memory pool shared by processes");
    *memPool = createPool();
    emitPool(call, kPoolCreated, *memPool);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool) {
  return SOFTCUDA_CALL(cudaMemPoolDestroy, v11020, {
    if (memPool == defaultPool() || !isPool(memPool)) return cudaErrorInvalidValue;
    emitPool(call, kPoolDestroyed, memPool);
    return destroyPool(memPool) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
  return SOFTCUDA_CALL(cudaMemPoolTrimTo, v11020, {
    if (!isPool(memPool)) return cudaErrorInvalidValue;
    deviceHeap().releasePages();
    emitPool(call, kPoolTrimmed, memPool, minBytesToKeep);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
  return SOFTCUDA_CALL(cudaMemPoolSetAttribute, v11020, {
    if (!isPool(memPool) || !value) return cudaErrorInvalidValue;
    switch (attr) {
      case cudaMemPoolAttrReleaseThreshold:
        releaseThreshold(memPool) = *static_cast<uint64_t*>(value);
        return cudaSuccess;
      case cudaMemPoolReuseFollowEventDependencies:
      case cudaMemPoolReuseAllowOpportunistic:
      case cudaMemPoolReuseAllowInternalDependencies:
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        if (*static_cast<uint64_t*>(value) != 0) return cudaErrorInvalidValue;
        resetPoolHighMarks(memPool, attr == cudaMemPoolAttrUsedMemHigh, attr == cudaMemPoolAttrReservedMemHigh);
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
  return SOFTCUDA_CALL(cudaMemPoolGetAttribute, v11020, {
    if (!isPool(memPool) || !value) return cudaErrorInvalidValue;
    const PoolState state = poolState(memPool);
    switch (attr) {
      case cudaMemPoolReuseFollowEventDependencies:
      case cudaMemPoolReuseAllowOpportunistic:
      case cudaMemPoolReuseAllowInternalDependencies:
        *static_cast<int*>(value) = 1;
        return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold:
        *static_cast<uint64_t*>(value) = releaseThreshold(memPool);
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemCurrent:
        *static_cast<uint64_t*>(value) = state.reservedBytes;
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemHigh:
        *static_cast<uint64_t*>(value) = state.reservedHighBytes;
        return cudaSuccess;
      case cudaMemPoolAttrUsedMemCurrent:
        *static_cast<uint64_t*>(value) = state.usedBytes;
        return cudaSuccess;
      case cudaMemPoolAttrUsedMemHigh:
        *static_cast<uint64_t*>(value) = state.usedHighBytes;
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}
}
