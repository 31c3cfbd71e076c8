// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "workloads/softcuda/device.h"

namespace {

// NVIDIA's library beside ours; error texts need no driver.
void* realRuntime() {
  static void* library = dlopen((std::string(PLUMB_CUDA_LIB) + "/libcudart.so.13").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library && dlsym(library, "softcuda_now")) return nullptr;
  return library;
}

TEST(Errors, NamesAndTextsAreTheRealOnes) {
  void* real = realRuntime();
  if (!real) GTEST_SKIP() << "NVIDIA's libcudart.so.13 is not here";
  const auto name = reinterpret_cast<decltype(&cudaGetErrorName)>(dlsym(real, "cudaGetErrorName"));
  const auto text = reinterpret_cast<decltype(&cudaGetErrorString)>(dlsym(real, "cudaGetErrorString"));
  ASSERT_TRUE(name && text);
  for (int code = 0; code <= 1000; ++code) {
    const auto error = static_cast<cudaError_t>(code);
    EXPECT_STREQ(cudaGetErrorName(error), name(error));
    EXPECT_STREQ(cudaGetErrorString(error), text(error));
  }
}

// A program finds every function of NVIDIA's library: what is not implemented fails when it is called, not when it is
// loaded.
TEST(Exports, AreAtLeastTheRealOnes) {
  if (!realRuntime()) GTEST_SKIP() << "NVIDIA's libcudart.so.13 is not here";
  FILE* symbols = popen("nm -D --defined-only '" PLUMB_CUDA_LIB "/libcudart.so.13'", "r");
  ASSERT_NE(symbols, nullptr);
  void* ours = dlopen(SOFTCUDA_LIBRARY_DIR "/libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(ours, nullptr);
  char name[256];
  char type = ' ';
  int functions = 0;
  while (fscanf(symbols, "%*s %c %255s", &type, name) == 2) {
    if (type != 'T') continue;
    name[std::strcspn(name, "@")] = '\0';
    EXPECT_NE(dlsym(ours, name), nullptr) << name;
    ++functions;
  }
  pclose(symbols);
  EXPECT_GT(functions, 300);
}

TEST(Errors, TheLastOneIsPerThreadAndClearedByReading) {
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice) << "a success does not clear it";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Errors, WhatIsNotThereIsSaidOnce) {
  testing::internal::CaptureStderr();
  cudaArray_t array = nullptr;
  EXPECT_EQ(cudaFreeArray(array), cudaErrorNotSupported);
  EXPECT_EQ(cudaFreeArray(array), cudaErrorNotSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "softcuda: cudaFreeArray is not available on the software device\n");
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

TEST(Device, IsOneAndSaysWhatItIs) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 1);
  cudaDeviceProp a{};
  cudaDeviceProp b{};
  ASSERT_EQ(cudaGetDeviceProperties(&a, 0), cudaSuccess);
  ASSERT_EQ(cudaGetDeviceProperties(&b, 0), cudaSuccess);
  EXPECT_STREQ(a.name, "software device (CPU)");
  EXPECT_EQ(std::memcmp(&a.uuid, &b.uuid, sizeof(a.uuid)), 0);
  EXPECT_EQ(a.warpSize, 32);
  EXPECT_EQ(a.multiProcessorCount, softcuda_threads());
  int threads = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0), cudaSuccess);
  EXPECT_EQ(threads, a.maxThreadsPerBlock);
  EXPECT_EQ(cudaGetDeviceProperties(&a, 1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetAttribute(&threads, cudaDevAttrWarpSize, 3), cudaErrorInvalidDevice);
  cudaGetLastError();
}

}  // namespace
