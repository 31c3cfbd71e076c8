// SPDX-License-Identifier: Apache-2.0
// __device__ and __constant__ variables by symbol.
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <gtest/gtest.h>

namespace variables_test {

__constant__ int table[4];
__device__ int total;
__device__ int unnamed;

__global__ void addTable(int index) { atomicAdd(&total, table[index]); }

}  // namespace variables_test

SOFTCUDA_KERNEL(variables_test::addTable)
SOFTCUDA_VARIABLE(variables_test::table)
SOFTCUDA_VARIABLE(variables_test::total)

namespace {

using namespace variables_test;

cudaError_t launchAddTable(int index, cudaStream_t stream) {
  void* arguments[] = {&index};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&addTable), 2, 1, arguments, 0, stream);
}

TEST(Variables, AreCopiedToAndFromInTheOrderOfTheStream) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const int values[4] = {1, 2, 30, 400};
  const int zero = 0;
  int result = -1;
  ASSERT_EQ(::cudaMemcpyToSymbol(static_cast<const void*>(&table), values, sizeof(values), 0, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(
      ::cudaMemcpyToSymbolAsync(static_cast<const void*>(&total), &zero, sizeof(zero), 0, cudaMemcpyDefault, stream),
      cudaSuccess);
  ASSERT_EQ(launchAddTable(2, stream), cudaSuccess);
  const int five = 5;
  ASSERT_EQ(::cudaMemcpyToSymbolAsync(static_cast<const void*>(&table), &five, sizeof(five), 2 * sizeof(int),
                                      cudaMemcpyHostToDevice, stream),
            cudaSuccess);
  ASSERT_EQ(launchAddTable(2, stream), cudaSuccess);
  ASSERT_EQ(::cudaMemcpyFromSymbolAsync(&result, static_cast<const void*>(&total), sizeof(result), 0,
                                        cudaMemcpyDeviceToHost, stream),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(result, 70);  // two blocks: 2 * 30 + 2 * 5
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(Variables, HaveASizeAndADeviceAddress) {
  std::size_t bytes = 0;
  void* address = nullptr;
  ASSERT_EQ(::cudaGetSymbolSize(&bytes, static_cast<const void*>(&table)), cudaSuccess);
  EXPECT_EQ(bytes, sizeof(table));
  ASSERT_EQ(::cudaGetSymbolAddress(&address, static_cast<const void*>(&total)), cudaSuccess);
  const int value = 11;
  int back = 0;
  ASSERT_EQ(cudaMemcpy(address, &value, sizeof(value), cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(::cudaMemcpyFromSymbol(&back, static_cast<const void*>(&total), sizeof(back), 0, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(back, 11);
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, address), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
}

TEST(Variables, CopiesBeyondThemOrInTheWrongDirectionFail) {
  int value = 0;
  const void* symbol = &total;
  EXPECT_EQ(::cudaMemcpyToSymbol(symbol, &value, sizeof(value), 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(::cudaMemcpyToSymbol(symbol, &value, 8, 0, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(::cudaMemcpyToSymbol(symbol, &value, sizeof(value), 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(::cudaMemcpyFromSymbol(&value, symbol, sizeof(value), 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidMemcpyDirection);
  const void* notNamed = &unnamed;
  EXPECT_EQ(::cudaMemcpyToSymbol(notNamed, &value, sizeof(value), 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
  void* address = nullptr;
  EXPECT_EQ(::cudaGetSymbolAddress(&address, &value), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidSymbol);
}

}  // namespace
