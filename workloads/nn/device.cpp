// SPDX-License-Identifier: Apache-2.0
#include "workloads/nn/device.h"

#include <cuda_runtime_api.h>

#include <cstdint>

#include "workloads/nn/error.h"

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

}  // namespace plumb::nn
