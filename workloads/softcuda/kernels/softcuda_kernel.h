// SPDX-License-Identifier: Apache-2.0
// CUDA kernels for both devices from one source. A file of kernels includes this header first and nothing else of
// CUDA's runtime, and is compiled by nvcc for the GPU and by g++ for the software device:
//
//   #include "workloads/softcuda/kernels/softcuda_kernel.h"
//   #include <cuda_bf16.h>                                  // after this header
//
//   template <int kBlock>
//   __global__ void __launch_bounds__(kBlock) rowSum(const float* x, float* y, int columns) {
//     __shared__ float partial[kBlock / 32];                // static shared memory
//     SOFTCUDA_DYNAMIC_SHARED(float, scratch);              // dynamic shared memory, 16-byte aligned
//     ...  threadIdx, blockDim, __syncthreads(), __shfl_xor_sync(), atomicAdd(), rsqrtf() … as in CUDA
//   }
//   SOFTCUDA_KERNEL(rowSum<256>)                            // one line for each kernel (instantiation) that is
//   launched
//
//   launch: cudaLaunchKernel(reinterpret_cast<const void*>(&rowSum<256>), grid, block, arguments, sharedBytes, stream);
//           there is no <<<…>>> in g++.
//
// CMake: softcuda_kernel_sources(<target> file.cu …) compiles the files by g++ into <target>, which must link
// softcuda_kernels. SOFTCUDA_KERNEL belongs in the file that also launches the kernel (or in any object that is surely
// linked: a static library drops objects that nobody refers to). Under nvcc the macros vanish.
//
// Kernels need external linkage (no static, no anonymous namespace) so that both compilers give them one name.
// Not available on the CPU (keep it within #ifndef SOFTCUDA_CPU): inline PTX, wmma, cp.async, clusters, textures.
// __device__ and __constant__ variables are ordinary variables with external linkage; SOFTCUDA_VARIABLE(name), with its
// namespaces if it has any, makes one known to cudaMemcpyToSymbol and its like. Cost on the CPU: about 2 ns a thread
// without barriers, some 10 ns more for every thread at every barrier or shuffle; so small blocks (32 … 128) and loops
// inside a thread are much cheaper there than 1024 threads that do one element each.
#pragma once

#ifdef __CUDACC__

#include <cuda_runtime.h>
#define SOFTCUDA_KERNEL(...)
#define SOFTCUDA_VARIABLE(...)
#define SOFTCUDA_DYNAMIC_SHARED(type, name)                                   \
  extern __shared__ __align__(16) unsigned char softcudaDynamicSharedBytes[]; \
  type* name = reinterpret_cast<type*>(softcudaDynamicSharedBytes)

#else

#define SOFTCUDA_CPU 1
#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "workloads/softcuda/kernels/engine.h"

#undef __shared__
#undef __global__
#undef __launch_bounds__
#define __shared__ thread_local  // a block runs on one CPU thread
#define __global__ __attribute__((visibility("default")))
#define __launch_bounds__(...)
#ifndef __restrict__
#define __restrict__ __restrict
#endif

#define SOFTCUDA_DYNAMIC_SHARED(type, name) type* name = reinterpret_cast<type*>(::softcuda::t_dynamicShared)

#include "workloads/softcuda/kernels/intrinsics.h"

namespace softcuda {

void registerKernel(SoftcudaKernel& kernel, const char* sourceText);
bool registerVariable(const char* sourceText, void* address, std::size_t bytes);

template <auto Function>
struct KernelOf;

// Unpacks the argument array of cudaLaunchKernel into a call of Function for every thread.
template <class... Arguments, void (*Function)(Arguments...)>
struct KernelOf<Function> {
  template <std::size_t... Index>
  static void loop(void** arguments, std::index_sequence<Index...>) {
    (void)arguments;
    while (nextThread())
      Function(*static_cast<std::remove_cv_t<std::remove_reference_t<Arguments> >*>(arguments[Index])...);
  }
  static void threads(void** arguments) { loop(arguments, std::index_sequence_for<Arguments...>{}); }
  static cudaError_t run(const SoftcudaGrid* grid, uint64_t firstBlock, uint64_t blockCount, void** arguments) {
    return runBlocks(&threads, *grid, firstBlock, blockCount, arguments);
  }
  static bool add(const char* sourceText) {
    static const uint32_t sizes[] = {static_cast<uint32_t>(sizeof(Arguments))..., 0};
    static SoftcudaKernel kernel = {
        sizeof(SoftcudaKernel), sizeof...(Arguments), nullptr, reinterpret_cast<const void*>(Function), sizes, &run};
    registerKernel(kernel, sourceText);
    return true;
  }
};

}  // namespace softcuda

#define SOFTCUDA_JOIN2(a, b) a##b
#define SOFTCUDA_JOIN(a, b) SOFTCUDA_JOIN2(a, b)
#define SOFTCUDA_KERNEL(...)                                                           \
  [[maybe_unused]] static const bool SOFTCUDA_JOIN(softcudaKernelAdded, __COUNTER__) = \
      ::softcuda::KernelOf<(&__VA_ARGS__)>::add(#__VA_ARGS__);

#define SOFTCUDA_VARIABLE(...)                                                                                         \
  [[maybe_unused]] static const bool SOFTCUDA_JOIN(softcudaVariableAdded, __COUNTER__) = ::softcuda::registerVariable( \
      #__VA_ARGS__, const_cast<void*>(static_cast<const void*>(&__VA_ARGS__)), sizeof(__VA_ARGS__));

#endif
