// SPDX-License-Identifier: Apache-2.0
// CUDA's cooperative groups for both devices: nvcc's own header there, and for the CPU the two groups that stand for
// barriers, this_thread_block() and, in a kernel launched by cudaLaunchCooperativeKernel, this_grid(). Included after
// softcuda_kernel.h.
#pragma once

#ifdef __CUDACC__
#include <cooperative_groups.h>
#else
#include "workloads/softcuda/kernels/softcuda_kernel.h"

namespace cooperative_groups {

class thread_block {  // NOLINT: CUDA's names
 public:
  static void sync() { softcuda::blockBarrier(softcuda::BlockOperation::kBarrier, false); }
  static unsigned int size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned int thread_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
};

class grid_group {  // NOLINT
 public:
  static void sync() { softcuda::gridBarrier(); }
  static bool is_valid() { return softcuda::isCooperative(); }
  static unsigned long long num_blocks() { return uint64_t{gridDim.x} * gridDim.y * gridDim.z; }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long block_rank() {
    return (uint64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
};

inline thread_block this_thread_block() { return {}; }
inline grid_group this_grid() { return {}; }
template <class Group>
void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
#endif
