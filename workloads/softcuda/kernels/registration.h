// SPDX-License-Identifier: Apache-2.0
// How a kernel compiled for the CPU becomes known to the software device's libcudart.so.13. Programs do not call this
// themselves: SOFTCUDA_KERNEL (softcuda_kernel.h) does, in a static initialiser.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

extern "C" {

// Where the blocks of a cooperative launch meet. wait returns when all blocks that have not ended are in it: 1, or 0
// when one of them has failed and the others must end too.
struct SoftcudaGridBarrier {
  int (*wait)(SoftcudaGridBarrier* self);
};

struct SoftcudaGrid {
  dim3 grid;
  dim3 block;
  uint32_t dynamic_shared_bytes;
  SoftcudaGridBarrier* barrier = nullptr;  // null: not a cooperative launch
};

struct SoftcudaKernel {
  uint32_t struct_size;  // sizeof(SoftcudaKernel)
  uint32_t argument_count;
  const char* name;           // mangled, as CUPTI reports it and as nvcc registers it; lives as long as the process
  const void* host_function;  // what cudaLaunchKernel is called with
  const uint32_t* argument_sizes;
  // Runs block_count blocks from the linear index first_block (x fastest) on the calling thread, to their end. May run
  // at the same time on several threads with disjoint ranges. cudaSuccess, or why the kernel failed
  // (cudaErrorLaunchFailure: trap or deadlock; cudaErrorAssert).
  cudaError_t (*run)(const SoftcudaGrid* grid, uint64_t first_block, uint64_t block_count, void** arguments);
};

// Adds a kernel; the struct must outlive the process's use of the device. A second kernel of the same name replaces it.
void softcuda_register_kernel(const SoftcudaKernel* kernel);

// Adds a __device__ or __constant__ variable under the name that nvcc registers it with.
void softcuda_register_variable(const char* name, void* address, size_t bytes);
}
