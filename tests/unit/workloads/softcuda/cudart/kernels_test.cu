// SPDX-License-Identifier: Apache-2.0
// Kernels compiled by g++ against results computed plainly.
#include "workloads/softcuda/kernels/softcuda_kernel.h"

#include "workloads/softcuda/kernels/cooperative_groups.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <type_traits>
#include <vector>

__global__ void axpy(int n, float a, const float* x, float* y) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] += a * x[i];
}

// A tree in shared memory, then shuffles; one result per block.
template <int kBlock>
__global__ void __launch_bounds__(kBlock) blockSum(const float* x, float* sums) {
  __shared__ float shared[kBlock];
  const unsigned t = threadIdx.x;
  shared[t] = x[blockIdx.x * kBlock + t];
  __syncthreads();
  for (unsigned step = kBlock / 2; step >= 32; step /= 2) {
    if (t < step) shared[t] += shared[t + step];
    __syncthreads();
  }
  if (t < 32) {
    float sum = shared[t];
    for (int offset = 16; offset > 0; offset /= 2)
      sum += __shfl_down_sync(0xffffffffu, sum, static_cast<unsigned>(offset));
    if (t == 0) sums[blockIdx.x] = sum;
  }
}

// Each thread takes its right neighbour's value, rounds times; only the grid's barrier keeps the rounds apart. rounds:
// even.
__global__ void rotateThroughTheGrid(int* values, int* next, int rounds) {
  const auto grid = cooperative_groups::this_grid();
  const auto i = static_cast<unsigned>(grid.thread_rank()), count = static_cast<unsigned>(grid.size());
  for (int round = 0; round < rounds; ++round) {
    next[i] = values[(i + 1) % count];
    grid.sync();
    int* swapped = values;
    values = next;
    next = swapped;
  }
}
__global__ void waitsForItsGrid() { cooperative_groups::this_grid().sync(); }

__global__ void reverseInDynamicShared(int* data) {
  SOFTCUDA_DYNAMIC_SHARED(int, scratch);
  scratch[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
}

struct WarpResults {
  int up[64], xored[64], broadcast[64], narrow[64];
  unsigned odd[64], sum[64], match[64];
  int count, all, any;
};

__global__ void warpOperations(WarpResults* out) {
  const int t = static_cast<int>(threadIdx.x);
  const unsigned full = 0xffffffffu;
  out->up[t] = __shfl_up_sync(full, t, 1);
  out->xored[t] = __shfl_xor_sync(full, t, 5);
  out->broadcast[t] = __shfl_sync(full, t, 3);
  out->narrow[t] = __shfl_down_sync(full, t, 1, 8);
  out->odd[t] = __ballot_sync(full, t & 1);
  out->sum[t] = __reduce_add_sync(full, static_cast<unsigned>(t));
  out->match[t] = __match_any_sync(full, t / 16);
  const int count = __syncthreads_count(t % 3 == 0);
  const int all = __syncthreads_and(t < 64);
  const int any = __syncthreads_or(t == 63);
  if (t == 0) {
    out->count = count;
    out->all = all;
    out->any = any;
  }
}

// Half of each warp leaves early; the rest goes on with barriers and partial masks.
__global__ void earlyExit(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  if (t % 32 >= 16) return;
  __syncthreads();
  out[t] = __shfl_xor_sync(0x0000ffffu, t, 1);
  __syncthreads();
}

// Two groups of one warp do different numbers of operations.
__global__ void divergent(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  int value = t;
  if (t < 8) {
    for (int i = 0; i < 3; ++i) value += __shfl_sync(0x000000ffu, value, 0);
  } else {
    value = __shfl_sync(0xffffff00u, value, 31);
  }
  out[t] = value;
}

__global__ void atomics(int* ints, float* floats, __nv_bfloat16* bf, unsigned long long* big) {
  atomicAdd(&ints[0], 1);
  atomicMax(&ints[1], static_cast<int>(threadIdx.x));
  atomicMin(&ints[2], static_cast<int>(blockIdx.x));
  atomicCAS(&ints[3], 0, 42);
  atomicAdd(&floats[0], 0.5f);
  atomicAdd(&bf[0], __float2bfloat16(1.0f));
  atomicAdd(&big[0], 1ull << 32);
}

__global__ void coordinates(uint3* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      make_uint3(threadIdx.x + 100 * blockIdx.x, threadIdx.y + 100 * blockIdx.y, threadIdx.z + 100 * blockIdx.z);
}

struct Large {
  int values[200];
};
__global__ void takesLarge(Large large, int* out) { *out = std::accumulate(large.values, large.values + 200, 0); }

__global__ void halves(const float* x, __half* h, float* back, int n) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
    h[i] = __float2half(x[i]);
    back[i] = __half2float(h[i]) + rsqrtf(4.0f) + __expf(0.0f);
  }
}

__global__ void neverMeet() {
  if (threadIdx.x == 0) {
    __syncthreads();
  } else if (threadIdx.x == 1) {
    __syncwarp();
  }
}
__global__ void traps() { __trap(); }

SOFTCUDA_KERNEL(rotateThroughTheGrid)
SOFTCUDA_KERNEL(waitsForItsGrid)
SOFTCUDA_KERNEL(axpy)
SOFTCUDA_KERNEL(blockSum<64>)
SOFTCUDA_KERNEL(blockSum<1024>)
SOFTCUDA_KERNEL(reverseInDynamicShared)
SOFTCUDA_KERNEL(warpOperations)
SOFTCUDA_KERNEL(earlyExit)
SOFTCUDA_KERNEL(divergent)
SOFTCUDA_KERNEL(atomics)
SOFTCUDA_KERNEL(coordinates)
SOFTCUDA_KERNEL(takesLarge)
SOFTCUDA_KERNEL(halves)
SOFTCUDA_KERNEL(neverMeet)
SOFTCUDA_KERNEL(traps)

namespace {

template <class... Arguments>
cudaError_t launch(void (*kernel)(Arguments...), dim3 grid, dim3 block, std::size_t sharedBytes,
                   std::type_identity_t<Arguments>... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, pointers, sharedBytes, nullptr);
}

// Managed memory: the tests read results in place after synchronizing.
template <class T>
class Managed {
 public:
  explicit Managed(std::size_t count) {
    EXPECT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&m_data), count * sizeof(T), cudaMemAttachGlobal),
              cudaSuccess);
    EXPECT_EQ(cudaMemset(m_data, 0, count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  ~Managed() { EXPECT_EQ(cudaFree(m_data), cudaSuccess); }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  T* data() { return m_data; }
  T& operator[](std::size_t i) { return m_data[i]; }

 private:
  T* m_data = nullptr;
};

void finish() { ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess); }

TEST(Kernels, AThreadPerElement) {
  const int n = 1000;
  Managed<float> x(n);
  Managed<float> y(n);
  for (int i = 0; i < n; ++i) x[i] = static_cast<float>(i);
  ASSERT_EQ(launch(axpy, (n + 127) / 128, 128, 0, n, 2.0f, x.data(), y.data()), cudaSuccess);
  finish();
  for (int i = 0; i < n; ++i) ASSERT_EQ(y[i], 2.0f * static_cast<float>(i));
}

template <int kBlock>
void checkBlockSum() {
  const int blocks = 37;
  Managed<float> x(kBlock * blocks);
  Managed<float> sums(blocks);
  for (int i = 0; i < kBlock * blocks; ++i) x[i] = static_cast<float>(i % 7);
  ASSERT_EQ(launch(blockSum<kBlock>, blocks, kBlock, 0, x.data(), sums.data()), cudaSuccess);
  finish();
  for (int b = 0; b < blocks; ++b) {
    ASSERT_EQ(sums[b], std::accumulate(x.data() + b * kBlock, x.data() + (b + 1) * kBlock, 0.0f));
  }
}
TEST(Kernels, ReduceWithBarriersAndShuffles) {
  checkBlockSum<64>();
  checkBlockSum<1024>();
}

TEST(Kernels, DynamicSharedMemory) {
  Managed<int> data(100);
  std::iota(data.data(), data.data() + 100, 0);
  ASSERT_EQ(launch(reverseInDynamicShared, 1, 100, 100 * sizeof(int), data.data()), cudaSuccess);
  finish();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(data[i], 99 - i);
}

TEST(Kernels, WarpAndBlockVotes) {
  Managed<WarpResults> r(1);
  ASSERT_EQ(launch(warpOperations, 1, 64, 0, r.data()), cudaSuccess);
  finish();
  for (int t = 0; t < 64; ++t) {
    const int lane = t % 32;
    const int base = t - lane;
    EXPECT_EQ(r[0].up[t], lane == 0 ? t : t - 1);
    EXPECT_EQ(r[0].xored[t], t ^ 5);
    EXPECT_EQ(r[0].broadcast[t], base + 3);
    EXPECT_EQ(r[0].narrow[t], t % 8 == 7 ? t : t + 1);
    EXPECT_EQ(r[0].odd[t], 0xaaaaaaaau);
    EXPECT_EQ(r[0].sum[t], static_cast<unsigned>(32 * base + 31 * 16));
    EXPECT_EQ(r[0].match[t], lane < 16 ? 0x0000ffffu : 0xffff0000u);
  }
  EXPECT_EQ(r[0].count, 22);
  EXPECT_NE(r[0].all, 0);
  EXPECT_NE(r[0].any, 0);
}

TEST(Kernels, ThreadsThatReturnedAreNotWaitedFor) {
  Managed<int> out(64);
  ASSERT_EQ(launch(earlyExit, 1, 64, 0, out.data()), cudaSuccess);
  finish();
  for (int t = 0; t < 64; ++t) ASSERT_EQ(out[t], t % 32 < 16 ? t ^ 1 : 0);
}

TEST(Kernels, GroupsOfAWarpGoTheirOwnWays) {
  Managed<int> out(32);
  ASSERT_EQ(launch(divergent, 1, 32, 0, out.data()), cudaSuccess);
  finish();
  for (int t = 0; t < 8; ++t) ASSERT_EQ(out[t], t);
  for (int t = 8; t < 32; ++t) ASSERT_EQ(out[t], 31);
}

TEST(Kernels, Atomics) {
  Managed<int> ints(4);
  Managed<float> floats(1);
  Managed<__nv_bfloat16> bf(1);
  Managed<unsigned long long> big(1);
  ints[2] = 1000;
  ASSERT_EQ(launch(atomics, 16, 8, 0, ints.data(), floats.data(), bf.data(), big.data()), cudaSuccess);
  finish();
  EXPECT_EQ(ints[0], 128);
  EXPECT_EQ(ints[1], 7);
  EXPECT_EQ(ints[2], 0);
  EXPECT_EQ(ints[3], 42);
  EXPECT_EQ(floats[0], 64.0f);
  EXPECT_EQ(__bfloat162float(bf[0]), 128.0f);
  EXPECT_EQ(big[0], 128ull << 32);
}

TEST(Kernels, ThreeDimensions) {
  const dim3 grid(3, 2, 2);
  const dim3 block(4, 3, 2);
  Managed<uint3> out(12 * 24);
  ASSERT_EQ(launch(coordinates, grid, block, 0, out.data()), cudaSuccess);
  finish();
  const uint3 last = out[12 * 24 - 1];
  EXPECT_EQ(last.x, 203u);
  EXPECT_EQ(last.y, 102u);
  EXPECT_EQ(last.z, 101u);
  EXPECT_EQ(out[25].x, 101u);  // the second thread of the second block
}

TEST(Kernels, ArgumentsAreCopiedAtTheLaunch) {
  Managed<int> out(1);
  Large large{};
  for (int i = 0; i < 200; ++i) large.values[i] = i;
  void* target = out.data();
  void* pointers[] = {&large, &target};
  ASSERT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(&takesLarge), 1, 1, pointers, 0, nullptr), cudaSuccess);
  large.values[0] = 1000000;
  finish();
  EXPECT_EQ(out[0], 199 * 100);
}

TEST(Kernels, HalfPrecisionRounds) {
  Managed<float> x(2);
  Managed<__half> h(2);
  Managed<float> back(2);
  x[0] = 0.1f;
  x[1] = 70000.0f;
  ASSERT_EQ(launch(halves, 1, 2, 0, x.data(), h.data(), back.data(), 2), cudaSuccess);
  finish();
  EXPECT_EQ(back[0], 0.0999755859375f + 1.5f);
  EXPECT_TRUE(std::isinf(back[1]));
}

TEST(Launches, WrongOnesAreErrorsOfTheLaunch) {
  Managed<int> out(64);
  EXPECT_EQ(launch(earlyExit, 0, 32, 0, out.data()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(earlyExit, 1, 1025, 0, out.data()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(earlyExit, 1, dim3(1, 1, 65), 0, out.data()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(earlyExit, 1, 32, 64 * 1024, out.data()), cudaErrorInvalidValue) << "needs cudaFuncSetAttribute";
  const auto function = reinterpret_cast<const void*>(&earlyExit);
  EXPECT_EQ(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024), cudaSuccess);
  EXPECT_EQ(launch(earlyExit, 1, 32, 64 * 1024, out.data()), cudaSuccess);
  int notAKernel = 0;
  EXPECT_EQ(cudaLaunchKernel(&notAKernel, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  finish();
  cudaGetLastError();
}

TEST(Launches, TheBlocksOfACooperativeLaunchMeet) {
  int blocks = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  constexpr unsigned kThreads = 64;
  constexpr int kRounds = 100;
  const unsigned threads = static_cast<unsigned>(blocks) * kThreads;
  Managed<int> values(threads), next(threads);
  int rounds = kRounds;
  int *first = values.data(), *second = next.data();
  void* pointers[] = {&first, &second, &rounds};
  const auto function = reinterpret_cast<const void*>(&rotateThroughTheGrid);
  for (unsigned i = 0; i < threads; ++i) first[i] = static_cast<int>(i);
  ASSERT_EQ(cudaLaunchCooperativeKernel(function, static_cast<unsigned>(blocks), kThreads, pointers, 0, nullptr),
            cudaSuccess);
  finish();
  for (unsigned i = 0; i < threads; ++i) EXPECT_EQ(first[i], static_cast<int>((i + kRounds) % threads));
  EXPECT_EQ(cudaLaunchCooperativeKernel(function, static_cast<unsigned>(blocks) + 1, kThreads, pointers, 0, nullptr),
            cudaErrorCooperativeLaunchTooLarge);
  cudaGetLastError();

  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(blocks);
  config.blockDim = kThreads;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (unsigned i = 0; i < threads; ++i) first[i] = static_cast<int>(i);
  ASSERT_EQ(cudaLaunchKernelExC(&config, function, pointers), cudaSuccess);
  finish();
  EXPECT_EQ(first[0], static_cast<int>(kRounds % threads));
}

TEST(Launches, ClustersAreNotSupported) {
  Managed<int> out(64);
  void* target = out.data();
  void* pointers[] = {&target};
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 64;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const auto function = reinterpret_cast<const void*>(&earlyExit);
  EXPECT_EQ(cudaLaunchKernelExC(&config, function, pointers), cudaErrorNotSupported);
  attribute.val.clusterDim = {1, 1, 1};
  EXPECT_EQ(cudaLaunchKernelExC(&config, function, pointers), cudaSuccess);
  finish();
  cudaGetLastError();
}

// A failed kernel spoils the device for the rest of the process, so each has a process of its own.
int failWith(void (*kernel)(), dim3 block) {
  if (launch(kernel, 1, block, 0) != cudaSuccess) return 100;
  const cudaError_t error = cudaDeviceSynchronize();
  void* p = nullptr;
  if (cudaMalloc(&p, 64) != error) return 101;  // sticky
  if (cudaGetLastError() != error || cudaGetLastError() != error) return 102;
  return error == cudaErrorLaunchFailure ? 7 : 103;
}

TEST(Launches, ADeadlockEndsTheKernelWithAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(failWith(neverMeet, 64)), testing::ExitedWithCode(7), "a kernel deadlocked");
}

TEST(Launches, WaitingForTheGridInAnOrdinaryLaunchEndsTheKernelWithAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(failWith(waitsForItsGrid, 64)), testing::ExitedWithCode(7), "cudaLaunchCooperativeKernel");
}

TEST(Launches, ATrapEndsTheKernelWithAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(failWith(traps, 64)), testing::ExitedWithCode(7), "");
}

}  // namespace
