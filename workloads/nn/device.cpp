// SPDX-License-Identifier: Apache-2.0
#include "workloads/nn/device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "workloads/nn/error.h"
#include "workloads/nn/operations.h"

namespace plumb::nn {

void useDevice(int localRank) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "counting the devices");
  const int device = localRank % devices;
  check(cudaSetDevice(device), "choosing the device");
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "finding the device's memory pool");
  uint64_t keep = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "setting up the memory pool");
  // Otherwise the pool may make one stream wait for another only to reuse its memory sooner, and they no longer
  // overlap.
  int allowed = 0;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &allowed),
        "setting up the memory pool");
}

std::string deviceName() {
  int device = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device), "finding the current device");
  check(cudaGetDeviceProperties(&properties, device), "reading the device's properties");
  return properties.name;
}

size_t bytesBeyondCaches() {
  int device = 0, cache = 0;
  size_t free = 0, total = 0;
  check(cudaGetDevice(&device), "finding the current device");
  check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device), "reading the size of the device's cache");
  check(cudaMemGetInfo(&free, &total), "reading the device's free memory");
  return std::min(free / 4, std::max(size_t{256} << 20, static_cast<size_t>(cache) / 2 * 3));
}

void restBeforeTiming() {
  if (!kernelsAreForGpu()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace plumb::nn
