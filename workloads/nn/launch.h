// SPDX-License-Identifier: Apache-2.0
// Launches a kernel without <<<>>>, so that the same line compiles with nvcc and with g++ (where the pointer is the CPU
// function's, known to the software device by its SOFTCUDA_KERNEL line).
#pragma once
#include <tuple>
#include <utility>

#include <cuda_runtime_api.h>

#include "workloads/nn/error.h"

namespace plumb::nn {

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream, Arguments... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments));
  std::tuple<Parameters...> values(static_cast<Parameters>(arguments)...);
  std::apply(
      [&](auto&... value) {
        void* pointers[] = {const_cast<void*>(static_cast<const void*>(&value))...};
        check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, pointers, 0, stream),
              "launching a kernel");
      },
      values);
}

}  // namespace plumb::nn
