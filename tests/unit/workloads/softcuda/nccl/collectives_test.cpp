// SPDX-License-Identifier: Apache-2.0
// Every collective, data type and operation over 1, 2 and 4 processes, against sums made here.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/unit/workloads/softcuda/nccl/ranks.h"

namespace softcuda_test {
namespace {

// What rank contributes at position i: small whole numbers, exact in every type.
template <typename T>
T value(int rank, size_t i) {
  return T(static_cast<float>((i * 7 + static_cast<size_t>(rank) * 3) % 5 + 1));
}
template <typename T>
double asDouble(T v) {
  return static_cast<double>(static_cast<float>(v));
}
template <>
double asDouble(double v) {
  return v;
}

template <typename T>
double reduced(ncclRedOp_t op, int ranks, size_t i) {
  double total = asDouble(value<T>(0, i));
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = asDouble(value<T>(rank, i));
    total = op == ncclProd  ? total * next
            : op == ncclMax ? std::max(total, next)
            : op == ncclMin ? std::min(total, next)
                            : total + next;
  }
  if (op == ncclAvg) {
    total /= ranks;
    if (std::is_integral_v<T>) {
      total = std::trunc(total);
    }
  }
  return asDouble(T(static_cast<float>(total)));
}

template <typename T>
T* device(size_t count) {
  void* memory = nullptr;
  cudaMalloc(&memory, std::max<size_t>(count, 1) * sizeof(T));
  return static_cast<T*>(memory);
}

template <typename T>
void fill(T* data, size_t count, int rank, size_t first = 0) {
  for (size_t i = 0; i < count; ++i) {
    data[i] = value<T>(rank, first + i);
  }
}

template <typename T>
void checkReductions(Rank& r, ncclDataType_t type, size_t count) {
  const auto n = static_cast<size_t>(r.ranks);
  T* const send = device<T>(count * n);
  T* const receive = device<T>(count * n);
  for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg}) {
    fill(send, count * n, r.rank);
    NCCL_OK(ncclAllReduce(send, receive, count, type, op, r.comm, r.stream));
    r.wait();
    for (size_t i = 0; i < count; ++i) {
      REQUIRE(asDouble(receive[i]) == reduced<T>(op, r.ranks, i));
    }
    NCCL_OK(ncclReduceScatter(send, receive, count, type, op, r.comm, r.stream));
    r.wait();
    for (size_t i = 0; i < count; ++i) {
      REQUIRE(asDouble(receive[i]) == reduced<T>(op, r.ranks, static_cast<size_t>(r.rank) * count + i));
    }
    const int root = r.ranks - 1;
    NCCL_OK(ncclReduce(send, r.rank == root ? receive : nullptr, count, type, op, root, r.comm, r.stream));
    r.wait();
    for (size_t i = 0; r.rank == root && i < count; ++i) {
      REQUIRE(asDouble(receive[i]) == reduced<T>(op, r.ranks, i));
    }
  }
  cudaFree(send);
  cudaFree(receive);
}

template <typename T>
void checkMoves(Rank& r, ncclDataType_t type, size_t count) {
  const auto n = static_cast<size_t>(r.ranks);
  T* const send = device<T>(count);
  T* const receive = device<T>(count * n);
  fill(send, count, r.rank);
  NCCL_OK(ncclAllGather(send, receive, count, type, r.comm, r.stream));
  r.wait();
  for (size_t i = 0; i < count * n; ++i) {
    REQUIRE(asDouble(receive[i]) == asDouble(value<T>(static_cast<int>(i / count), i % count)));
  }
  for (int root = 0; root < r.ranks; ++root) {
    NCCL_OK(ncclBroadcast(send, receive, count, type, root, r.comm, r.stream));
    r.wait();
    for (size_t i = 0; i < count; ++i) {
      REQUIRE(asDouble(receive[i]) == asDouble(value<T>(root, i)));
    }
  }
  cudaFree(send);
  cudaFree(receive);
}

template <typename T>
void checkType(Rank& r, ncclDataType_t type) {
  for (const size_t count : {size_t{1}, size_t{37}, size_t{5000}}) {
    checkReductions<T>(r, type, count);
    checkMoves<T>(r, type, count);
  }
}

class Collectives : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Values(1, 2, 4), testing::PrintToStringParamName());

TEST_P(Collectives, IntegersOfEveryWidth) {
  EXPECT_TRUE(runRanks(GetParam(), [](Rank& r) {
    checkMoves<int8_t>(r, ncclInt8, 100);
    checkType<int32_t>(r, ncclInt32);
    checkType<uint32_t>(r, ncclUint32);
    checkType<int64_t>(r, ncclInt64);
    checkType<uint64_t>(r, ncclUint64);
  }));
}

TEST_P(Collectives, FloatsOfEveryWidth) {
  EXPECT_TRUE(runRanks(GetParam(), [](Rank& r) {
    checkType<float>(r, ncclFloat32);
    checkType<double>(r, ncclFloat64);
    checkType<__half>(r, ncclFloat16);
    checkType<__nv_bfloat16>(r, ncclBfloat16);
    checkMoves<__nv_fp8_e4m3>(r, ncclFloat8e4m3, 77);
    checkMoves<__nv_fp8_e5m2>(r, ncclFloat8e5m2, 77);
  }));
}

// Several rounds through the 1 MiB stages, with a rest.
TEST_P(Collectives, MessagesOfAnyLength) {
  EXPECT_TRUE(runRanks(GetParam(), [](Rank& r) {
    for (const size_t count : {size_t{262144}, size_t{1000003}}) {
      checkMoves<float>(r, ncclFloat32, count);
      checkReductions<__nv_bfloat16>(r, ncclBfloat16, count);
    }
  }));
}

TEST_P(Collectives, InPlace) {
  EXPECT_TRUE(runRanks(GetParam(), [](Rank& r) {
    for (const size_t count : {size_t{9}, size_t{400000}}) {
      const auto n = static_cast<size_t>(r.ranks), own = static_cast<size_t>(r.rank) * count;
      auto* const data = device<float>(count * n);
      fill(data, count * n, r.rank);
      NCCL_OK(ncclAllReduce(data, data, count * n, ncclFloat32, ncclSum, r.comm, r.stream));
      r.wait();
      for (size_t i = 0; i < count * n; ++i) {
        REQUIRE(asDouble(data[i]) == reduced<float>(ncclSum, r.ranks, i));
      }
      fill(data, count * n, r.rank);
      NCCL_OK(ncclReduceScatter(data, data + own, count, ncclFloat32, ncclSum, r.comm, r.stream));
      r.wait();
      for (size_t i = 0; i < count; ++i) {
        REQUIRE(asDouble(data[own + i]) == reduced<float>(ncclSum, r.ranks, own + i));
      }
      fill(data + own, count, r.rank);
      NCCL_OK(ncclAllGather(data + own, data, count, ncclFloat32, r.comm, r.stream));
      r.wait();
      for (size_t i = 0; i < count * n; ++i) {
        REQUIRE(data[i] == value<float>(static_cast<int>(i / count), i % count));
      }
      fill(data, count, r.rank);
      NCCL_OK(ncclBcast(data, count, ncclFloat32, 0, r.comm, r.stream));
      r.wait();
      REQUIRE(data[count - 1] == value<float>(0, count - 1));
      cudaFree(data);
    }
  }));
}

TEST(CollectiveRounding, SixteenBitSumsRoundOnceAtTheEnd) {
  EXPECT_TRUE(runRanks(4, [](Rank& r) {
    auto* const data = device<__nv_bfloat16>(2);
    // 256 + 1 + 1 + 1: each step alone would round back to 256; together they are 259, which rounds to 260.
    data[0] = __float2bfloat16_rn(r.rank == 0 ? 256.0f : 1.0f);
    NCCL_OK(ncclAllReduce(data, data, 1, ncclBfloat16, ncclSum, r.comm, r.stream));
    r.wait();
    REQUIRE(__bfloat162float(data[0]) == 260.0f);
    auto* const half = device<__half>(1);
    half[0] = __float2half_rn(20000.0f);
    NCCL_OK(ncclAllReduce(half, half, 1, ncclFloat16, ncclSum, r.comm, r.stream));
    r.wait();
    REQUIRE(std::isinf(__half2float(half[0])));
    half[0] = __float2half_rn(20000.0f);
    NCCL_OK(ncclAllReduce(half, half, 1, ncclFloat16, ncclAvg, r.comm, r.stream));
    r.wait();
    REQUIRE(__half2float(half[0]) == 20000.0f);
  }));
}

TEST(CollectiveRounding, EveryRankGetsTheSameBits) {
  EXPECT_TRUE(runRanks(4, [](Rank& r) {
    constexpr size_t kCount = 30000;
    auto* const data = device<float>(kCount);
    auto* const all = device<float>(kCount * 4);
    for (size_t i = 0; i < kCount; ++i) {
      data[i] = 1.0f / static_cast<float>(i + 1 + static_cast<size_t>(r.rank) * 17);
    }
    NCCL_OK(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, r.comm, r.stream));
    NCCL_OK(ncclAllGather(data, all, kCount, ncclFloat32, r.comm, r.stream));
    r.wait();
    for (size_t i = 0; i < kCount * 4; ++i) {
      REQUIRE(all[i] == data[i % kCount]);
    }
  }));
}

TEST(Reductions, APreMultipliedSumScalesEachRanksInput) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    auto* const data = device<float>(1);
    data[0] = 10;
    float scalar = r.rank == 0 ? 0.5f : 2.0f;
    ncclRedOp_t op;
    NCCL_OK(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32, ncclScalarHostImmediate, r.comm));
    NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, op, r.comm, r.stream));
    r.wait();
    REQUIRE(data[0] == 25.0f);
    NCCL_OK(ncclRedOpDestroy(op, r.comm));
    REQUIRE(ncclAllReduce(data, data, 1, ncclFloat32, op, r.comm, r.stream) == ncclInvalidArgument);
  }));
}

TEST(Streams, KernelsOfOneCommunicatorKeepTheirOrderAcrossStreams) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    cudaStream_t other = nullptr;
    cudaStreamCreate(&other);
    auto* const data = device<float>(1);
    data[0] = 1;
    for (int i = 0; i < 20; ++i) {
      NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, r.comm, i % 2 == 0 ? r.stream : other));
    }
    cudaDeviceSynchronize();
    REQUIRE(data[0] == 1048576.0f);
  }));
}

TEST(Streams, AGroupWaitsForAllItsStreams) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    cudaStream_t other = nullptr;
    cudaStreamCreate(&other);
    auto* const a = device<float>(1 << 20);
    auto* const b = device<float>(1 << 20);
    cudaMemsetAsync(a, 0, 4 << 20, r.stream);
    cudaMemsetAsync(b, 0, 4 << 20, other);
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclAllReduce(a, a, 1 << 20, ncclFloat32, ncclSum, r.comm, r.stream));
    NCCL_OK(ncclAllReduce(b, b, 1 << 20, ncclFloat32, ncclMax, r.comm, other));
    NCCL_OK(ncclGroupEnd());
    cudaStreamSynchronize(other);
    REQUIRE(a[100] == 0 && b[100] == 0);
  }));
}

}  // namespace
}  // namespace softcuda_test
