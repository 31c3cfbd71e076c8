// SPDX-License-Identifier: Apache-2.0
// Preloaded into a lesson: every other copy of results to the host brings a wrong first number.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>

extern "C" cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  static const auto real = reinterpret_cast<decltype(&cudaMemcpy)>(dlsym(RTLD_NEXT, "cudaMemcpy"));
  static std::atomic<int> copies{0};
  const cudaError_t error = real(to, from, bytes, kind);
  if (error == cudaSuccess && kind == cudaMemcpyDeviceToHost && ++copies % 2 == 0) *static_cast<float*>(to) += 1.0f;
  return error;
}
