// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tests/unit/workloads/softcuda/nccl/ranks.h"

namespace softcuda_test {
namespace {

float* device(size_t count) {
  void* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(float));
  return static_cast<float*>(memory);
}

TEST(Communicator, KnowsItsPlace) {
  EXPECT_TRUE(runRanks(3, [](Rank& r) {
    int count = 0, rank = -1, cuda_device = -1;
    NCCL_OK(ncclCommCount(r.comm, &count));
    NCCL_OK(ncclCommUserRank(r.comm, &rank));
    NCCL_OK(ncclCommCuDevice(r.comm, &cuda_device));
    REQUIRE(count == 3 && rank == r.rank && cuda_device == 0);
    ncclResult_t error = ncclInternalError;
    NCCL_OK(ncclCommGetAsyncError(r.comm, &error));
    REQUIRE(error == ncclSuccess);
    NCCL_OK(ncclCommFinalize(r.comm));
  }));
}

TEST(Communicator, SaysItsVersionAndErrors) {
  int version = 0;
  ASSERT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, 22809);
  EXPECT_STREQ(ncclGetErrorString(ncclSuccess), "no error");
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("ncclGetVersion"), std::string::npos);
}

TEST(Communicator, RefusesBadArguments) {
  EXPECT_TRUE(runRanks(
      1,
      [](Rank& r) {
        ncclComm_t comm = nullptr;
        REQUIRE(ncclCommInitRank(&comm, 2, r.id, 2) == ncclInvalidArgument);
        REQUIRE(ncclCommInitRank(&comm, 0, r.id, 0) == ncclInvalidArgument);
        ncclUniqueId nonsense{};
        REQUIRE(ncclCommInitRank(&comm, 1, nonsense, 0) == ncclInvalidArgument);
        ncclConfig_t config{};
        REQUIRE(ncclCommInitRankConfig(&comm, 1, r.id, 0, &config) == ncclInvalidArgument);
        NCCL_OK(ncclCommInitRank(&comm, 1, r.id, 0));
        float* const data = device(1);
        REQUIRE(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, nullptr, r.stream) == ncclInvalidArgument);
        REQUIRE(ncclAllReduce(data, data, 1, static_cast<ncclDataType_t>(99), ncclSum, comm, r.stream) ==
                ncclInvalidArgument);
        REQUIRE(ncclAllReduce(data, data, 1, ncclFloat32, static_cast<ncclRedOp_t>(99), comm, r.stream) ==
                ncclInvalidArgument);
        REQUIRE(ncclAllReduce(nullptr, data, 1, ncclFloat32, ncclSum, comm, r.stream) == ncclInvalidArgument);
        REQUIRE(ncclBroadcast(data, data, 1, ncclFloat32, 1, comm, r.stream) == ncclInvalidArgument);
        NCCL_OK(ncclAllReduce(nullptr, nullptr, 0, ncclFloat32, ncclSum, comm, r.stream));
        NCCL_OK(ncclCommDestroy(comm));
        NCCL_OK(ncclCommDestroy(nullptr));
      },
      false));
}

TEST(Communicator, NoticesRanksThatDisagree) {
  EXPECT_TRUE(runRanks(
      1,
      [](Rank& r) {
        // The first rank of two waits in another process; here the second comes with another number, then twice.
        const int child = fork();
        if (child == 0) {
          ncclComm_t comm = nullptr;
          _exit(ncclCommInitRank(&comm, 2, r.id, 0) == ncclSuccess ? 0 : 1);
        }
        usleep(50000);
        ncclComm_t comm = nullptr;
        REQUIRE(ncclCommInitRank(&comm, 3, r.id, 1) == ncclInvalidArgument);
        REQUIRE(ncclCommInitRank(&comm, 2, r.id, 0) == ncclInvalidUsage);
        NCCL_OK(ncclCommInitRank(&comm, 2, r.id, 1));
        REQUIRE(awaitChild(child, 10) == 0);
      },
      false));
}

TEST(Communicator, SplitsByColorAndKey) {
  EXPECT_TRUE(runRanks(4, [](Rank& r) {
    for (int round = 0; round < 3; ++round) {
      ncclComm_t half = nullptr;
      // Even and odd ranks, in reverse order.
      NCCL_OK(ncclCommSplit(r.comm, r.rank % 2, -r.rank, &half, nullptr));
      int count = 0, rank = -1;
      NCCL_OK(ncclCommCount(half, &count));
      NCCL_OK(ncclCommUserRank(half, &rank));
      REQUIRE(count == 2 && rank == (r.rank < 2 ? 1 : 0));
      float* const data = device(1);
      data[0] = static_cast<float>(r.rank);
      NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, half, r.stream));
      r.wait();
      REQUIRE(data[0] == (r.rank % 2 == 0 ? 2 : 4));
      NCCL_OK(ncclCommDestroy(half));
    }
    ncclComm_t some = nullptr;
    NCCL_OK(ncclCommSplit(r.comm, r.rank == 3 ? NCCL_SPLIT_NOCOLOR : 7, r.rank, &some, nullptr));
    REQUIRE((some == nullptr) == (r.rank == 3));
    if (some) {
      NCCL_OK(ncclCommDestroy(some));
    }
  }));
}

// Two communicators whose kernels overlap in opposite order on the two ranks.
TEST(Communicator, SeveralAtOnceDoNotDisturbEachOther) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    ncclComm_t second = nullptr;
    NCCL_OK(ncclCommSplit(r.comm, 0, r.rank, &second, nullptr));
    cudaStream_t other = nullptr;
    cudaStreamCreate(&other);
    float* const data = device(2);
    data[0] = data[1] = 1;
    for (int i = 0; i < 2; ++i) {
      const bool first = (i == 0) == (r.rank == 0);
      NCCL_OK(ncclAllReduce(data + (first ? 0 : 1), data + (first ? 0 : 1), 1, ncclFloat32, ncclSum,
                            first ? r.comm : second, first ? r.stream : other));
    }
    cudaDeviceSynchronize();
    REQUIRE(data[0] == 2 && data[1] == 2);
    NCCL_OK(ncclCommDestroy(second));
  }));
}

TEST(Communicator, InitAllTakesTheDevicesThereAre) {
  EXPECT_TRUE(runRanks(
      1,
      [](Rank& r) {
        ncclComm_t comm = nullptr;
        NCCL_OK(ncclCommInitAll(&comm, 1, nullptr));
        float* const data = device(2);
        data[0] = 3;
        NCCL_OK(ncclAllGather(data, data + 1, 1, ncclFloat32, comm, r.stream));
        r.wait();
        REQUIRE(data[1] == 3);
        NCCL_OK(ncclCommDestroy(comm));
        ncclComm_t many[99];
        REQUIRE(ncclCommInitAll(many, 99, nullptr) == ncclInvalidArgument);
      },
      false));
}

TEST(Communicator, CollectivesMayBeCapturedInAGraph) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    float* const data = device(2);
    data[0] = data[1] = 1;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    REQUIRE(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclSend(data, 1, ncclFloat32, 1 - r.rank, r.comm, r.stream));
    NCCL_OK(ncclRecv(data + 1, 1, ncclFloat32, 1 - r.rank, r.comm, r.stream));
    NCCL_OK(ncclGroupEnd());
    REQUIRE(cudaStreamEndCapture(r.stream, &graph) == cudaSuccess);
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    r.wait();
    REQUIRE(data[0] == 1);
    for (int i = 0; i < 3; ++i) {
      REQUIRE(cudaGraphLaunch(executable, r.stream) == cudaSuccess);
    }
    NCCL_OK(ncclAllReduce(data, data, 2, ncclFloat32, ncclSum, r.comm, r.stream));  // not captured, after them
    r.wait();
    REQUIRE(data[0] == 16 && data[1] == 16);
    REQUIRE(cudaGraphExecDestroy(executable) == cudaSuccess);
    REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  }));
}

TEST(Communicator, AllocatesDeviceMemory) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    void* memory = nullptr;
    NCCL_OK(ncclMemAlloc(&memory, 4096));
    std::memset(memory, 0, 4096);
    NCCL_OK(ncclAllReduce(memory, memory, 1024, ncclFloat32, ncclSum, r.comm, r.stream));
    r.wait();
    NCCL_OK(ncclMemFree(memory));
  }));
}

}  // namespace
}  // namespace softcuda_test
