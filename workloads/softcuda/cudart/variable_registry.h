// SPDX-License-Identifier: Apache-2.0
// __device__ and __constant__ variables. What a program names as a symbol is the variable itself in a program built by
// g++, and a shadow that nvcc's host code registers otherwise; then the variable is in the library of CPU kernels and
// has the same name.
#pragma once
#include <cstddef>
#include <optional>

namespace softcuda {

struct DeviceVariable {
  std::byte* address;
  std::size_t bytes;
};

// Empty: not a symbol, or (said on stderr) one without a CPU version.
std::optional<DeviceVariable> findVariable(const void* symbol);

void registerShadow(const void* symbol, const char* name, std::size_t bytes);

// The variable that [address, address + 1) lies in.
std::optional<DeviceVariable> variableAround(const void* address);

}  // namespace softcuda
