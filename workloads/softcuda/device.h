// SPDX-License-Identifier: Apache-2.0
// What the software device's libcudart.so.13 offers to its siblings (libcublas, libcublasLt, libnccl, libcupti): work on
// streams with the events that CUPTI reports. C symbols with the prefix softcuda_, found by ordinary linking. Durations
// are CPU time.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

extern "C" {

// How a piece of device work is reported. name must stay valid for the life of the process.
struct SoftcudaKernelInfo {
  const char* name;
  dim3 grid;
  dim3 block;
  uint32_t static_shared_bytes;
  uint32_t dynamic_shared_bytes;
  uint32_t registers_per_thread;
};

// Queues run(context) on the stream as one kernel and returns at once; an API record of a kernel launch by the calling
// thread is reported around it. run is called once, on the stream's worker thread, and owns context. Returns
// cudaErrorInvalidResourceHandle for an unknown stream.
cudaError_t softcuda_launch(cudaStream_t stream, const SoftcudaKernelInfo* info, void (*run)(void*), void* context);

// The clock that CUPTI records use now (CLOCK_REALTIME unless a timestamp callback is registered), in nanoseconds.
uint64_t softcuda_now(void);

// Number of CPU threads one piece of device work may use: the machine's cores divided by LOCAL_WORLD_SIZE (or
// WORLD_SIZE), at least 1; SOFTCUDA_THREADS overrides.
int softcuda_threads(void);

// Device memory obtained and given back by a library for itself (workspaces, NCCL's buffers): as cudaMalloc / cudaFree.
// --- what libcupti.so.13 hooks into: one set of callbacks, set once, never unset. Called on the thread that produced the
// event; may be called concurrently. The structs are softcuda's own; libcupti turns them into CUPTI's.
struct SoftcudaEvent;
struct SoftcudaHooks {
  void (*event)(const SoftcudaEvent* event);  // a finished API call, kernel, copy, set, synchronization, allocation …
  uint64_t (*now)(void);                      // replaces the clock
};
void softcuda_set_hooks(const SoftcudaHooks* hooks);
}
