// SPDX-License-Identifier: Apache-2.0
// The one device, its properties and limits. Values describe the CPU; what a CPU has no equivalent of is 0.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/memory.h"
#include "workloads/softcuda/cudart/settings.h"
#include "workloads/softcuda/cudart/stream.h"
#include "workloads/softcuda/device.h"

#undef cudaGetDeviceProperties

namespace softcuda {
namespace {

constexpr char kName[] = "software device (CPU)";
// The feature level that kernels may count on: bf16 and tf32 exist (8.0), clusters and fp8 do not.
constexpr int kMajor = 8;
constexpr int kMinor = 0;
constexpr int kVersion = 13000;  // of the runtime and of the driver that is not there

std::string firstLine(const char* path, const char* prefix) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, std::strlen(prefix), prefix) == 0) return line;
  }
  return {};
}

// The same for every process of this machine and on every day: made of the machine's id and its processor's name.
cudaUUID_t machineUuid() {
  std::string text = firstLine("/etc/machine-id", "");
  if (text.empty()) {
    char host[256] = {};
    gethostname(host, sizeof(host) - 1);
    text = host;
  }
  text += firstLine("/proc/cpuinfo", "model name") + kName;
  cudaUUID_t uuid{};
  for (uint64_t half = 0; half < 2; ++half) {
    uint64_t hash = 0xcbf29ce484222325u + half;  // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    std::memcpy(uuid.bytes + 8 * half, &hash, sizeof(hash));
  }
  return uuid;
}

cudaDeviceProp makeProperties() {
  cudaDeviceProp p{};
  std::memcpy(p.name, kName, sizeof(kName));
  p.uuid = machineUuid();
  p.totalGlobalMem = deviceHeap().capacity();
  p.sharedMemPerBlock = 48 * 1024;
  p.sharedMemPerBlockOptin = 227 * 1024;
  p.sharedMemPerMultiprocessor = 228 * 1024;
  p.reservedSharedMemPerBlock = 1024;
  p.regsPerBlock = 65536;
  p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsPerMultiProcessor = 1024;
  p.maxBlocksPerMultiProcessor = 1;
  const int block[3] = {1024, 1024, 64};
  const int grid[3] = {0x7fffffff, 65535, 65535};
  std::memcpy(p.maxThreadsDim, block, sizeof(block));
  std::memcpy(p.maxGridSize, grid, sizeof(grid));
  p.totalConstMem = 65536;
  p.major = kMajor;
  p.minor = kMinor;
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = softcuda_threads();
  p.integrated = 1;
  p.canMapHostMemory = 1;
  p.concurrentKernels = 1;
  p.asyncEngineCount = 1;
  p.unifiedAddressing = 1;
  p.managedMemory = 1;
  p.concurrentManagedAccess = 1;
  p.directManagedMemAccessFromHost = 1;
  p.hostNativeAtomicSupported = 1;
  p.hostRegisterSupported = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.streamPrioritiesSupported = 1;
  p.memoryPoolsSupported = 1;
  p.l2CacheSize = static_cast<int>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
  p.hostNumaId = -1;
  return p;
}

const cudaDeviceProp& properties() {
  static const cudaDeviceProp instance = makeProperties();
  return instance;
}

int attribute(cudaDeviceAttr attr) {
  const cudaDeviceProp& p = properties();
  switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock:
      return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
      return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY:
      return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ:
      return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX:
      return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
      return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ:
      return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return static_cast<int>(p.totalConstMem);
    case cudaDevAttrWarpSize:
      return p.warpSize;
    case cudaDevAttrMaxPitch:
      return static_cast<int>(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock:
      return p.regsPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return p.regsPerMultiprocessor;
    case cudaDevAttrTextureAlignment:
      return static_cast<int>(p.textureAlignment);
    case cudaDevAttrTexturePitchAlignment:
      return static_cast<int>(p.texturePitchAlignment);
    case cudaDevAttrMultiProcessorCount:
      return p.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrComputeCapabilityMajor:
      return p.major;
    case cudaDevAttrComputeCapabilityMinor:
      return p.minor;
    case cudaDevAttrL2CacheSize:
      return p.l2CacheSize;
    case cudaDevAttrAsyncEngineCount:
      return p.asyncEngineCount;
    case cudaDevAttrHostNumaId:
      return p.hostNumaId;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrIntegrated:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrMemoryPoolsSupported:
      return 1;
    default:
      return 0;
  }
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

extern "C" {

const cudaDeviceProp* softcuda_device_properties() { return &properties(); }

cudaError_t cudaGetDeviceCount(int* count) {
  return SOFTCUDA_CALL(cudaGetDeviceCount, v3020, {
    if (!count) return cudaErrorInvalidValue;
    *count = 1;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return SOFTCUDA_CALL(cudaSetDevice, v3020, { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return SOFTCUDA_CALL(cudaInitDevice, v12000, { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaGetDevice(int* device) {
  return SOFTCUDA_CALL(cudaGetDevice, v3020, {
    if (!device) return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  return SOFTCUDA_CALL(cudaGetDeviceProperties, v12000, {
    if (!prop) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    *prop = properties();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  return SOFTCUDA_CALL(cudaDeviceGetAttribute, v5000, {
    if (!value || static_cast<int>(attr) <= 0) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    *value = attribute(attr);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return SOFTCUDA_CALL(cudaDeviceCanAccessPeer, v4000, {
    if (!canAccessPeer) return cudaErrorInvalidValue;
    if (device != 0 || peerDevice != 0) return cudaErrorInvalidDevice;
    *canAccessPeer = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) {
  return SOFTCUDA_CALL(cudaDeviceEnablePeerAccess, v4000, { return cudaErrorInvalidDevice; });
}

cudaError_t cudaDeviceDisablePeerAccess(int) {
  return SOFTCUDA_CALL(cudaDeviceDisablePeerAccess, v4000, { return cudaErrorInvalidDevice; });
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  return SOFTCUDA_CALL(cudaDeviceGetPCIBusId, v4010, {
    constexpr char kBus[] = "0000:00:00.0";
    if (!pciBusId || len < static_cast<int>(sizeof(kBus))) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    std::memcpy(pciBusId, kBus, sizeof(kBus));
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int) {
  return SOFTCUDA_CALL(cudaSetDeviceFlags, v3020, { return cudaSuccess; });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return SOFTCUDA_CALL(cudaGetDeviceFlags, v7000, {
    if (!flags) return cudaErrorInvalidValue;
    *flags = cudaDeviceScheduleBlockingSync;  // waiting threads sleep
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceReset(void) {
  return SOFTCUDA_CALL(cudaDeviceReset, v3020, {
    synchronizeAll();
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
  return SOFTCUDA_PASSIVE_CALL(cudaRuntimeGetVersion, v3020, {
    if (!runtimeVersion) return remember(cudaErrorInvalidValue);
    *runtimeVersion = kVersion;
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* driverVersion) {
  return SOFTCUDA_PASSIVE_CALL(cudaDriverGetVersion, v3020, {
    if (!driverVersion) return remember(cudaErrorInvalidValue);
    *driverVersion = kVersion;
    return cudaSuccess;
  });
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define SOFTCUDA_ERROR(name, text) \
  case name:                       \
    return #name;
#include "workloads/softcuda/cudart/errors.def"
#undef SOFTCUDA_ERROR
    default:
      return "unrecognized error code";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define SOFTCUDA_ERROR(name, text) \
  case name:                       \
    return text;
#include "workloads/softcuda/cudart/errors.def"
#undef SOFTCUDA_ERROR
    default:
      return "unrecognized error code";
  }
}
}
