// SPDX-License-Identifier: Apache-2.0
// What the software device's libcudart.so.13 offers to its siblings (libcublas, libcublasLt, libnccl, libcupti): work
// on streams with the events that CUPTI reports. C symbols with the prefix softcuda_, found by ordinary linking.
// Durations are CPU time. Device memory for a library's own use comes from cudaMalloc / cudaFree.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

extern "C" {

// Through which call a launch is reported, as the real library does it: cuBLAS launches by the runtime API
// (cudaLaunchKernelExC), NCCL by the driver API (cuLaunchKernelEx).
enum SoftcudaLaunchedBy : uint32_t { SOFTCUDA_LAUNCHED_BY_RUNTIME = 0, SOFTCUDA_LAUNCHED_BY_DRIVER = 1 };

// How a piece of device work is reported. name must stay valid for the life of the process.
struct SoftcudaKernelInfo {
  const char* name;
  dim3 grid;
  dim3 block;
  uint32_t static_shared_bytes;
  uint32_t dynamic_shared_bytes;
  uint32_t registers_per_thread;
  uint32_t launched_by;  // SoftcudaLaunchedBy
};

// Queues run(context) on the stream as one kernel and returns at once; an API record of a kernel launch by the calling
// thread is reported around it. run is called once, on the stream's worker thread, and owns context; it may block, but
// not wait for later work of the same stream. *info is copied. Returns cudaErrorInvalidResourceHandle for an unknown
// stream; then, as with every other error, run is never called.
cudaError_t softcuda_launch(cudaStream_t stream, const SoftcudaKernelInfo* info, void (*run)(void*), void* context);

// As softcuda_launch, for work that may be captured in a graph: run(context) is called once, or on a capturing stream
// as often as the graph is launched; launches of one graph on several streams may overlap. release(context) is called
// once, after the last run, on whatever thread lets go of it. On an error neither is ever called.
cudaError_t softcuda_launch_repeatable(cudaStream_t stream, const SoftcudaKernelInfo* info, void (*run)(void*),
                                       void* context, void (*release)(void*));

// Whether work given to the stream now is captured; unlike cudaStreamIsCapturing it is not a reported API call.
int softcuda_capturing(cudaStream_t stream);

// The clock that CUPTI records use now (CLOCK_REALTIME unless a timestamp callback is registered), in nanoseconds.
uint64_t softcuda_now(void);

// Number of CPU threads one piece of device work may use: the machine's cores divided by LOCAL_WORLD_SIZE (or
// WORLD_SIZE), at least 1; SOFTCUDA_THREADS overrides.
int softcuda_threads(void);

// Says once per process on stderr that the software device has no such call. Returns cudaErrorNotSupported.
cudaError_t softcuda_unsupported(const char* call);

// --- for libcupti.so.13 (workloads/softcuda/cudart/events.h)
struct SoftcudaHooks;
// Sets the one set of callbacks; called once and never undone. *hooks must live as long as the process.
void softcuda_set_hooks(const struct SoftcudaHooks* hooks);
}
