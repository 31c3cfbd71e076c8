// SPDX-License-Identifier: Apache-2.0
// The process's device memory and pinned host memory.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "workloads/softcuda/cudart/heap.h"
#include "workloads/softcuda/cudart/stream.h"

namespace softcuda {

// CUpti_ActivityMemoryKind; also the label of heap blocks.
enum MemoryKind : uint8_t { kPageable = 1, kPinned = 2, kDevice = 3, kManaged = 5 };

Heap& deviceHeap();
Heap& pinnedHeap();

struct Place {
  MemoryKind kind;
  bool inBounds;  // [address, address + bytes) lies within one allocation (always true for pageable memory)
};
Place classify(const void* address, std::size_t bytes);

bool registerHost(void* address, std::size_t bytes);  // pins memory of the program; false if already registered
bool unregisterHost(void* address);

// Pools: the device's default one and those that the program makes. A destroyed pool takes no more allocations; what it
// has given out may still be freed.
cudaMemPool_t defaultPool();
cudaMemPool_t createPool();
bool isPool(cudaMemPool_t pool);
bool destroyPool(cudaMemPool_t pool);  // false: not one that the program made
std::atomic<uint64_t>& releaseThreshold(cudaMemPool_t pool);

// Stream-ordered allocation: memory freed on a stream may be used again on it at once, elsewhere
// only when the free has been reached.
void* allocateOnStream(std::size_t bytes, Stream& stream, cudaMemPool_t pool);  // null: exhausted
struct Freed {
  std::size_t bytes;   // as asked for
  cudaMemPool_t pool;  // null: from cudaMalloc
};
std::optional<Freed> freeOnStream(void* address, Stream& stream);  // empty: not an allocation

// Memory of a graph: allocated when the call is captured, freed with the last graph that has the returned node's owner.
std::shared_ptr<void> allocateForGraph(std::size_t bytes);  // null: exhausted
bool ownedByGraph(const void* address);

std::optional<std::size_t> forgetPooled(void* address);  // before cudaFree of such memory; empty: not from the pool

struct PoolState {
  std::size_t usedBytes;  // allocated and not yet freed by the program
  std::size_t usedHighBytes;
  std::size_t reservedBytes;  // of the device's memory, with what waits for its stream
  std::size_t reservedHighBytes;
};
PoolState poolState(cudaMemPool_t pool);
void resetPoolHighMarks(cudaMemPool_t pool, bool used, bool reserved);

}  // namespace softcuda
