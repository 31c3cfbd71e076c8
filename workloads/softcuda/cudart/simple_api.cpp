// SPDX-License-Identifier: Apache-2.0
// Calls with a simple true answer on this device: caches have no preference, the profiler
// switch has nothing to switch.
#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/kernel_registry.h"
#include "workloads/softcuda/cudart/stream.h"

using namespace softcuda;

extern "C" {

cudaError_t cudaProfilerStart(void) {
  return SOFTCUDA_PASSIVE_CALL(cudaProfilerStart, v4000, { return cudaSuccess; });
}
cudaError_t cudaProfilerStop(void) {
  return SOFTCUDA_PASSIVE_CALL(cudaProfilerStop, v4000, { return cudaSuccess; });
}

cudaError_t cudaFuncSetCacheConfig(const void* func, cudaFuncCache) {
  return SOFTCUDA_CALL(cudaFuncSetCacheConfig, v3020,
                       { return findKernel(func) ? cudaSuccess : cudaErrorInvalidDeviceFunction; });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return SOFTCUDA_CALL(cudaDeviceSetCacheConfig, v3020, { return cudaSuccess; });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* pCacheConfig) {
  return SOFTCUDA_CALL(cudaDeviceGetCacheConfig, v3020, {
    if (!pCacheConfig) return cudaErrorInvalidValue;
    *pCacheConfig = cudaFuncCachePreferNone;
    return cudaSuccess;
  });
}

cudaError_t cudaSetValidDevices(int* device_arr, int len) {
  return SOFTCUDA_CALL(cudaSetValidDevices, v3020, {
    for (int i = 0; i < len; ++i) {
      if (device_arr[i] != 0) return cudaErrorInvalidDevice;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  return SOFTCUDA_CALL(cudaChooseDevice, v3020, {
    if (!device) return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
  });
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}
}
