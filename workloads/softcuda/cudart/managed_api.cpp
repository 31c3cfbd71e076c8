// SPDX-License-Identifier: Apache-2.0
// Managed memory's hints and questions about other devices. The CPU's memory is the device's: nothing ever moves, and
// there is no other device.
#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/memory.h"
#include "workloads/softcuda/cudart/stream.h"

namespace softcuda {
namespace {

bool managedRange(const void* address, std::size_t bytes) {
  const Place place = classify(address, bytes);
  return place.kind == kManaged && place.inBounds;
}

cudaError_t checkLocation(const cudaMemLocation& location) {
  switch (location.type) {
    case cudaMemLocationTypeDevice:
      return location.id == 0 ? cudaSuccess : cudaErrorInvalidDevice;
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent:
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

extern "C" {

cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, cudaMemLocation location, unsigned int flags,
                                 cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaMemPrefetchAsync, v12020, {
    if (flags != 0 || count == 0 || !managedRange(devPtr, count)) return cudaErrorInvalidValue;
    if (const cudaError_t error = refuseWork(findStream(stream))) return error;
    return checkLocation(location);
  });
}

cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice, cudaMemLocation location) {
  return SOFTCUDA_CALL(cudaMemAdvise, v12020, {
    if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy) return cudaErrorInvalidValue;
    if (count == 0 || !managedRange(devPtr, count)) return cudaErrorInvalidValue;
    const bool located = advice != cudaMemAdviseSetReadMostly && advice != cudaMemAdviseUnsetReadMostly;
    return located ? checkLocation(location) : cudaSuccess;
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* devPtr, size_t, unsigned int flags) {
  return SOFTCUDA_CALL(cudaStreamAttachMemAsync, v6000, {
    if (const cudaError_t error = refuseWork(findStream(stream))) return error;
    const bool known = flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle;
    return known && managedRange(devPtr, 1) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int srcDevice, int dstDevice) {
  return SOFTCUDA_CALL(cudaDeviceGetP2PAttribute, v8000, {
    if (!value) return cudaErrorInvalidValue;
    // Of a pair of devices; a device and itself are none.
    return srcDevice == dstDevice && srcDevice == 0 ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
  });
}
}
