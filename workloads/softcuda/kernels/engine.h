// SPDX-License-Identifier: Apache-2.0
// Runs the threads of a CUDA block on one CPU thread. Threads run one after the other until one meets a barrier or a
// warp operation; only then does it become a fiber of its own. So a kernel without barriers costs a plain loop.
//
// A thread that spins on a value which another thread of its block is to write never ends: only barriers and warp
// operations let the others run.
#pragma once
#include <cstdint>

#include "workloads/softcuda/kernels/registration.h"

#define SOFTCUDA_TLS extern __attribute__((tls_model("initial-exec"))) thread_local constinit

// CUDA's built-in variables: the current thread's place. Written by the engine whenever it moves from one CUDA thread
// to the next.
SOFTCUDA_TLS uint3 threadIdx;
SOFTCUDA_TLS uint3 blockIdx;
SOFTCUDA_TLS dim3 blockDim;
SOFTCUDA_TLS dim3 gridDim;
inline constexpr int warpSize = 32;

namespace softcuda {

SOFTCUDA_TLS unsigned char* t_dynamicShared;
// Linear thread numbers of the current block: the next one to start, how many there are; and whether any has waited.
SOFTCUDA_TLS uint32_t t_nextThread;
SOFTCUDA_TLS uint32_t t_threadCount;
SOFTCUDA_TLS uint32_t t_currentThread;
SOFTCUDA_TLS bool t_started;
SOFTCUDA_TLS bool t_hasWaited;

// One launch's loop over threads: calls the kernel for every thread that nextThread hands out.
using ThreadLoop = void (*)(void** arguments);

cudaError_t runBlocks(ThreadLoop loop, const SoftcudaGrid& grid, uint64_t firstBlock, uint64_t blockCount,
                      void** arguments);
bool nextThreadSlow();

// Ends the thread that ran last, if any, and moves to the next one; false when this loop has nothing left to start.
inline bool nextThread() {
  if (t_hasWaited || t_nextThread == t_threadCount || !t_started) return nextThreadSlow();
  t_currentThread = t_nextThread++;
  if (++threadIdx.x == blockDim.x) {
    threadIdx.x = 0;
    if (++threadIdx.y == blockDim.y) {
      threadIdx.y = 0;
      ++threadIdx.z;
    }
  }
  return true;
}

enum class WarpOperation : uint8_t {
  kBarrier,
  kShuffle,
  kBallot,
  kAdd,
  kMinSigned,
  kMaxSigned,
  kMinUnsigned,
  kMaxUnsigned,
  kAnd,
  kOr,
  kXor,
  kMatchAny
};
enum class BlockOperation : uint8_t { kBarrier, kCount, kAnd, kOr };

// Waits for every live thread of the block; returns the number of threads whose predicate holds (or all/any of it).
int blockBarrier(BlockOperation operation, bool predicate);

// Waits for every live thread of the grid: cooperative launches only, others fail.
void gridBarrier();
bool isCooperative();

// Waits for every live lane of mask. Shuffle: the value of lane sourceLane (0…31 in the warp). Others: the combination
// of all values (kBallot: bit i set if lane i's value is not 0).
uint64_t warpOperation(WarpOperation operation, uint32_t mask, uint64_t value, int sourceLane);

inline int laneIndex() { return static_cast<int>(t_currentThread & 31u); }
uint32_t liveLanes();

// Ends the whole launch with an error, as __trap and a failed assert do on a device.
[[noreturn]] void abortLaunch(cudaError_t error);

}  // namespace softcuda
