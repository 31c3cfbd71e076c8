// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/variable_registry.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/kernel_registry.h"
#include "workloads/softcuda/kernels/registration.h"

namespace softcuda {
namespace {

struct Shadow {
  std::string name;
  std::size_t bytes;
};

struct Registry {
  std::shared_mutex mutex;
  std::map<const std::byte*, std::size_t> variables;  // by address
  std::unordered_map<std::string, const std::byte*> byName;
  std::unordered_map<const void*, Shadow> shadows;
  std::atomic<bool> empty{true};
};

Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

std::optional<DeviceVariable> variableAt(const Registry& all, const std::byte* address) {
  const auto found = all.variables.find(address);
  if (found == all.variables.end()) return std::nullopt;
  return DeviceVariable{const_cast<std::byte*>(address), found->second};
}

std::optional<Shadow> findShadow(const void* symbol) {
  Registry& all = registry();
  std::shared_lock lock(all.mutex);
  const auto found = all.shadows.find(symbol);
  if (found == all.shadows.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<DeviceVariable> findVariable(const void* symbol) {
  const auto shadow = findShadow(symbol);
  if (shadow) loadKernelLibrary();
  Registry& all = registry();
  std::shared_lock lock(all.mutex);
  if (!shadow) return variableAt(all, static_cast<const std::byte*>(symbol));
  const auto named = all.byName.find(shadow->name);
  if (named != all.byName.end()) {
    const auto variable = variableAt(all, named->second);
    if (variable && variable->bytes == shadow->bytes) return variable;
  }
  std::fprintf(stderr, "softcuda: device variable %s has no CPU version of %zu bytes (SOFTCUDA_VARIABLE names it)\n",
               shadow->name.c_str(), shadow->bytes);
  return std::nullopt;
}

void registerShadow(const void* symbol, const char* name, std::size_t bytes) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.shadows[symbol] = {name, bytes};
}

std::optional<DeviceVariable> variableAround(const void* address) {
  Registry& all = registry();
  if (all.empty.load(std::memory_order_acquire)) return std::nullopt;
  const auto* byte = static_cast<const std::byte*>(address);
  std::shared_lock lock(all.mutex);
  auto next = all.variables.upper_bound(byte);
  if (next == all.variables.begin()) return std::nullopt;
  const auto& [start, bytes] = *--next;
  if (byte >= start + bytes) return std::nullopt;
  return DeviceVariable{const_cast<std::byte*>(start), bytes};
}

}  // namespace softcuda

using namespace softcuda;

extern "C" {

void softcuda_register_variable(const char* name, void* address, std::size_t bytes) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.variables[static_cast<const std::byte*>(address)] = bytes;
  all.byName[name] = static_cast<const std::byte*>(address);
  all.empty.store(false, std::memory_order_release);
}

cudaError_t cudaGetSymbolAddress(void** devPtr, const void* symbol) {
  return SOFTCUDA_CALL(cudaGetSymbolAddress, v3020, {
    if (!devPtr) return cudaErrorInvalidValue;
    const auto variable = findVariable(symbol);
    if (!variable) return cudaErrorInvalidSymbol;
    *devPtr = variable->address;
    return cudaSuccess;
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return SOFTCUDA_CALL(cudaGetSymbolSize, v3020, {
    if (!size) return cudaErrorInvalidValue;
    const auto variable = findVariable(symbol);
    if (!variable) return cudaErrorInvalidSymbol;
    *size = variable->bytes;
    return cudaSuccess;
  });
}
}
