// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/kernel_registry.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace softcuda {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<RegisteredKernel>> byName;
  std::unordered_map<const void*, RegisteredKernel*> byFunction;

  RegisteredKernel& named(const char* name) {
    auto& entry = byName[name];
    if (!entry) {
      entry = std::make_unique<RegisteredKernel>();
      entry->name = name;
    }
    return *entry;
  }
};

Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

std::string kernelLibraryPath() {
  if (const char* path = std::getenv("SOFTCUDA_KERNELS")) return path;
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program));
  return length > 0 ? std::string(program, static_cast<std::size_t>(length)) + ".swk.so" : std::string();
}

}  // namespace

RegisteredKernel* findKernel(const void* hostFunction) {
  Registry& all = registry();
  std::shared_lock lock(all.mutex);
  const auto found = all.byFunction.find(hostFunction);
  return found == all.byFunction.end() ? nullptr : found->second;
}

void registerStub(const void* hostFunction, const char* name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.byFunction[hostFunction] = &all.named(name);
}

void loadKernelLibrary() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::string path = kernelLibraryPath();
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      std::fprintf(stderr, "softcuda: no CPU kernels for this program: %s (SOFTCUDA_KERNELS names their library)\n",
                   dlerror());
    }
  });
}

const SoftcudaKernel* kernelCode(RegisteredKernel& kernel) {
  if (const SoftcudaKernel* code = kernel.code.load(std::memory_order_acquire)) return code;
  loadKernelLibrary();
  const SoftcudaKernel* code = kernel.code.load(std::memory_order_acquire);
  if (!code) std::fprintf(stderr, "softcuda: kernel %s has no CPU version\n", kernel.name.c_str());
  return code;
}

}  // namespace softcuda

extern "C" void softcuda_register_kernel(const SoftcudaKernel* kernel) {
  softcuda::Registry& all = softcuda::registry();
  std::lock_guard lock(all.mutex);
  softcuda::RegisteredKernel& entry = all.named(kernel->name);
  entry.code.store(kernel, std::memory_order_release);
  all.byFunction[kernel->host_function] = &entry;
}
