// SPDX-License-Identifier: Apache-2.0
// Which CPU function runs when a kernel is launched. A kernel is known by its mangled name (what nvcc's host stub
// registers) and by its host function (what a program built by g++ launches).
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <string>

#include "workloads/softcuda/kernels/registration.h"

namespace softcuda {

struct RegisteredKernel {
  std::string name;
  std::atomic<const SoftcudaKernel*> code{nullptr};  // null: no CPU version is known (yet)
  int maxDynamicSharedBytes = 48 * 1024;             // cudaFuncSetAttribute
};

// Entries live for ever; null if the function was never registered.
RegisteredKernel* findKernel(const void* hostFunction);
void registerStub(const void* hostFunction, const char* name);

// Opens the program's library of CPU kernels, once; kernels and variables register themselves from there.
void loadKernelLibrary();

// The CPU code of a kernel; loads the program's kernel library on first need. Null: said on stderr.
const SoftcudaKernel* kernelCode(RegisteredKernel& kernel);

}  // namespace softcuda
