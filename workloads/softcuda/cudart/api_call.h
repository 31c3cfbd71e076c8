// SPDX-License-Identifier: Apache-2.0
// What surrounds every runtime API call: initialisation and injection, correlation ids, API events, the last error.
#pragma once
#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>

#include <utility>

#include "workloads/softcuda/cudart/events.h"

namespace softcuda {

const SoftcudaHooks* hooks();  // null while no libcupti is attached
inline bool observed() { return hooks() != nullptr; }

// Brings up the device once, before the first call does anything else: exit handler, then injection. cudaSuccess, or
// cudaErrorInitializationError in a child of fork().
cudaError_t initialize();

// Errors that end the device's usefulness stay (a kernel that failed); every later call returns them.
void setStickyError(cudaError_t error);
cudaError_t stickyError();
cudaError_t remember(cudaError_t error);  // as the calling thread's last error; returns it

// One reported API call, from construction to destruction.
class ApiCall {
 public:
  ApiCall(uint32_t domain, uint32_t cbid, const char* name, const char* symbol = nullptr);
  ~ApiCall();
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;
  uint32_t correlation() const { return m_call.correlation; }
  uint64_t startNs() const { return m_call.start_ns; }
  cudaError_t finish(cudaError_t result);

 private:
  SoftcudaApiCall m_call{};
  const SoftcudaHooks* m_hooks;
};

// The body of a runtime API function: body(ApiCall&) → cudaError_t, not run after a sticky error.
template <class Body>
cudaError_t runtimeCall(uint32_t cbid, const char* name, Body&& body, const char* symbol = nullptr) {
  if (const cudaError_t error = initialize(); error != cudaSuccess) return remember(error);
  ApiCall call(SOFTCUDA_API_RUNTIME, cbid, name, symbol);
  if (const cudaError_t error = stickyError(); error != cudaSuccess) return remember(call.finish(error));
  return remember(call.finish(std::forward<Body>(body)(call)));
}

// For calls that neither bring the device up nor care whether it works: reported if it is up.
template <class Body>
auto passiveCall(uint32_t cbid, const char* name, Body&& body) {
  if (!softcuda_context_exists()) return body();
  ApiCall call(SOFTCUDA_API_RUNTIME, cbid, name);
  return body();
}

void emit(const SoftcudaEvent& event);

}  // namespace softcuda

// Names the function's cbid by its version suffix: SOFTCUDA_CALL(cudaMalloc, v3020, { …; return cudaSuccess; })
#define SOFTCUDA_CALL(function, version, ...)                              \
  ::softcuda::runtimeCall(CUPTI_RUNTIME_TRACE_CBID_##function##_##version, \
                          #function, [&]([[maybe_unused]] ::softcuda::ApiCall & call) -> cudaError_t __VA_ARGS__)
#define SOFTCUDA_PASSIVE_CALL(function, version, ...) \
  ::softcuda::passiveCall(CUPTI_RUNTIME_TRACE_CBID_##function##_##version, #function, [&]() -> cudaError_t __VA_ARGS__)
