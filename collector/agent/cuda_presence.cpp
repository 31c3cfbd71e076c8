// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/cuda_presence.h"

#include <dlfcn.h>

#include <initializer_list>

namespace plumb::agent {
namespace {

constexpr const char* kDriver = "libcuda.so.1";

// The software device needs no driver.
bool isSoftware(void* runtime) noexcept { return dlsym(runtime, "softcuda_initialize") != nullptr; }

}  // namespace

bool isMapped(const char* soname) noexcept {
  void* library = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) {
    dlclose(library);
  }
  return library != nullptr;
}

CudaPresence cudaPresence() noexcept {
  void* runtime = nullptr;
  for (const char* soname : {"libcudart.so.13", "libcudart.so.12"}) {
    runtime = runtime != nullptr ? runtime : dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
  }
  if (runtime == nullptr) {
    return CudaPresence::kNoRuntime;
  }
  const bool software = isSoftware(runtime);
  dlclose(runtime);
  if (software) {
    return CudaPresence::kUnused;
  }
  if (isMapped(kDriver)) {
    return CudaPresence::kDriverSilent;
  }
  void* driver = dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    return CudaPresence::kNoDriver;
  }
  dlclose(driver);
  return CudaPresence::kUnused;
}

}  // namespace plumb::agent
