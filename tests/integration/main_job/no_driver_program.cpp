// SPDX-License-Identifier: Apache-2.0
// A program of somebody who has CUDA's libraries but no driver: it marks its work (not when
// told to be silent), asks for devices and copes.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>

int main(int argc, char**) {
  for (int i = 0; i < 3 && argc == 1; ++i) {
    nvtxRangePushA("host work");
    nvtxRangePop();
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  std::printf("devices: %d\n", devices);
  return 7;
}
