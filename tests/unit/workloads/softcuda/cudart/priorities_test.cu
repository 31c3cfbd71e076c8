// SPDX-License-Identifier: Apache-2.0
// A stream of higher priority gets the free CPU threads, although another kernel came first.
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include <gtest/gtest.h>

#include <thread>

#include "workloads/softcuda/device.h"

__global__ void busyBlock(int* done) {
  volatile float value = 1.0f;
  for (int i = 0; i < 200000; ++i) value = value * 1.0000001f;
  atomicAdd(done, 1);
}
SOFTCUDA_KERNEL(busyBlock)

namespace {

constexpr unsigned kBlocks = 400;

void launchBusy(cudaStream_t stream, int* done) {
  void* arguments[] = {&done};
  ASSERT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(&busyBlock), dim3(kBlocks), dim3(1), arguments, 0, stream),
            cudaSuccess);
}

TEST(StreamPriority, TheUrgentKernelOvertakes) {
  if (softcuda_threads() == 1) GTEST_SKIP() << "one CPU thread: there is nothing to give to the urgent kernel";
  cudaStream_t low = nullptr, high = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, 0), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, -5), cudaSuccess);
  cudaEvent_t lowEnd = nullptr;
  ASSERT_EQ(cudaEventCreate(&lowEnd), cudaSuccess);
  int* done = nullptr;
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&done), 2 * sizeof(int)), cudaSuccess);
  done[0] = done[1] = 0;
  launchBusy(low, &done[0]);
  ASSERT_EQ(cudaEventRecord(lowEnd, low), cudaSuccess);
  while (__atomic_load_n(&done[0], __ATOMIC_RELAXED) < 8) std::this_thread::yield();
  launchBusy(high, &done[1]);
  ASSERT_EQ(cudaStreamSynchronize(high), cudaSuccess);
  EXPECT_EQ(done[1], static_cast<int>(kBlocks));
  EXPECT_EQ(cudaEventQuery(lowEnd), cudaErrorNotReady);
  ASSERT_EQ(cudaStreamSynchronize(low), cudaSuccess);
  EXPECT_EQ(done[0], static_cast<int>(kBlocks));
  cudaFreeHost(done);
  cudaEventDestroy(lowEnd);
  cudaStreamDestroy(low);
  cudaStreamDestroy(high);
}

}  // namespace
