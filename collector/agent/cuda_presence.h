// SPDX-License-Identifier: Apache-2.0
// What a process has of CUDA, found without starting anything of it.
#pragma once
#include <cstdint>

namespace plumb::agent {

bool isMapped(const char* soname) noexcept;

enum class CudaPresence : uint8_t {
  kNoRuntime,     // no libcudart
  kUnused,        // a libcudart whose driver could be loaded, but was not asked for
  kNoDriver,      // a libcudart, and no libcuda.so.1 to be found
  kDriverSilent,  // both, and the driver has not called InitializeInjection: cuInit failed, or nobody called it
};
// For the end of a process in which nothing of CUDA has called in.
CudaPresence cudaPresence() noexcept;

}  // namespace plumb::agent
