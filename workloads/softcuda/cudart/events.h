// SPDX-License-Identifier: Apache-2.0
// What libcudart.so.13 tells libcupti.so.13: every API call as it begins and ends, and every finished piece of work.
// The structs are the software device's own; libcupti turns them into CUPTI's. Hooks are called on the thread that
// produced the event (the caller of the API, or a stream's worker thread) and concurrently; pointers are valid during
// the call.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

extern "C" {

enum SoftcudaApiDomain : uint32_t { SOFTCUDA_API_DRIVER = 1, SOFTCUDA_API_RUNTIME = 2 };  // as CUpti_CallbackDomain

struct SoftcudaApiCall {
  uint32_t domain;
  uint32_t cbid;     // CUpti_runtime_api_trace_cbid or CUpti_driver_api_trace_cbid
  const char* name;  // without version: "cudaMalloc"
  uint32_t correlation;
  cudaError_t result;    // valid at the end
  uint64_t start_ns;     // softcuda_now()
  uint64_t end_ns;       // valid at the end
  const char* symbol;    // kernel launches: the kernel's mangled name, else null
  uint64_t client_data;  // libcupti's, kept from begin to end
};

enum SoftcudaEventKind : uint32_t {
  SOFTCUDA_EVENT_KERNEL = 1,
  SOFTCUDA_EVENT_COPY,
  SOFTCUDA_EVENT_SET,
  SOFTCUDA_EVENT_SYNCHRONIZATION,
  SOFTCUDA_EVENT_MEMORY,
  SOFTCUDA_EVENT_EVENT_RECORD,
  SOFTCUDA_EVENT_STREAM_CREATED,
  SOFTCUDA_EVENT_STREAM_DESTROYED,
  SOFTCUDA_EVENT_CONTEXT_CREATED,
  SOFTCUDA_EVENT_GRAPH,  // a launched graph, from its first node to its last
  SOFTCUDA_EVENT_MEMORY_POOL,
  SOFTCUDA_EVENT_GRAPH_NODE_CREATED,
  SOFTCUDA_EVENT_GRAPH_NODE_CLONED,  // into an executable graph, graph_id; a clone has the handle and id of its node
};

// Numbers are CUPTI's: CUpti_ActivityMemoryKind, CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryOperationType …
struct SoftcudaEvent {
  uint32_t kind;
  uint32_t correlation;
  uint32_t stream;  // CUPTI's stream id
  uint32_t flags;   // copies and sets: bit 0 asynchronous
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t queued_ns;  // when the API call put it on the stream
  uint64_t graph_id;   // of the executable graph that the work is part of, else 0
  uint64_t graph_node_id;
  union {
    struct {
      const char* name;
      uint32_t grid[3];
      uint32_t block[3];
      uint32_t static_shared_bytes;
      uint32_t dynamic_shared_bytes;
      uint32_t registers_per_thread;
      uint32_t cooperative;  // 1: launched so that its blocks can meet
    } kernel;
    struct {
      uint64_t bytes;
      uint8_t copy_kind;
      uint8_t source_kind;
      uint8_t destination_kind;
    } copy;
    struct {
      uint64_t bytes;
      uint32_t value;
      uint8_t memory_kind;
    } set;
    struct {
      uint32_t type;      // CUpti_ActivitySynchronizationType
      uint32_t event_id;  // where an event is involved
    } synchronization;
    struct {
      uint64_t address;
      uint64_t bytes;
      uint32_t operation;  // 1 allocation, 2 release; of a pool: 1 created, 2 destroyed, 3 trimmed (bytes kept)
      uint8_t memory_kind;
      uint8_t is_async;  // by cudaMallocAsync / cudaFreeAsync, from pool
      uint64_t pool_address;
      uint64_t pool_bytes;
      uint64_t pool_used_bytes;
      uint64_t pool_release_threshold_bytes;
    } memory;
    struct {
      uint32_t event_id;
    } event_record;
    struct {
      cudaStream_t handle;
      int priority;
      uint32_t cuda_flags;  // as given to cudaStreamCreateWithFlags
    } stream_info;
    struct {
      cudaGraphNode_t handle;
      uint32_t type;  // cudaGraphNodeType
    } graph_node;
  };
};

struct SoftcudaHooks {
  uint32_t struct_size;
  void (*api_begin)(SoftcudaApiCall* call);
  void (*api_end)(SoftcudaApiCall* call);
  void (*event)(const SoftcudaEvent* event);
  uint64_t (*now)(void);  // replaces the clock; may be called at any time
};

// CUPTI's number of a stream (null: the legacy default stream), 0 for an unknown one.
uint32_t softcuda_stream_id(cudaStream_t stream);

// Whether the device has been initialised, and what it is (as cudaGetDeviceProperties).
int softcuda_context_exists(void);
const struct cudaDeviceProp* softcuda_device_properties(void);

// The id of a graph or an executable graph; 0 for an unknown handle.
uint64_t softcuda_graph_id(const void* handle);

// The id of a graph's node, as in records; 0 for an unknown handle.
uint64_t softcuda_graph_node_id(cudaGraphNode_t node);

// Initialises the device as the first CUDA call would (and so loads what CUDA_INJECTION64_PATH names).
void softcuda_initialize(void);
}
