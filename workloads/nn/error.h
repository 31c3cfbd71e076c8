// SPDX-License-Identifier: Apache-2.0
// Errors of the workloads: exceptions, thrown when a CUDA, cuBLAS or NCCL call fails. main() turns them into one
// sentence and a non-zero exit code.
#pragma once
#include <stdexcept>
#include <string>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace plumb::nn {

class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw DeviceError(std::string(what) + " failed: " + cudaGetErrorString(code));
}

inline void check(cublasStatus_t code, const char* what) {
  if (code != CUBLAS_STATUS_SUCCESS)
    throw DeviceError(std::string(what) + " failed: cuBLAS status " + std::to_string(static_cast<int>(code)));
}

}  // namespace plumb::nn
