// SPDX-License-Identifier: Apache-2.0
// What the API's functions put on a stream, or into the capture of one, for the functions that add it to a graph.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

#include "workloads/softcuda/cudart/api_call.h"

namespace softcuda {

cudaError_t queueKernel(ApiCall& call, const void* function, dim3 grid, dim3 block, void** arguments,
                        std::size_t sharedBytes, cudaStream_t stream);
// Rows of width bytes.
cudaError_t queueCopy(ApiCall& call, const cudaPitchedPtr& to, const cudaPitchedPtr& from, std::size_t width,
                      std::size_t height, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t queueSet(ApiCall& call, const cudaMemsetParams& parameters, cudaStream_t stream);

}  // namespace softcuda
