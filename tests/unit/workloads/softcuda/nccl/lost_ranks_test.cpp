// SPDX-License-Identifier: Apache-2.0
// What happens when a rank never comes: the others wait without burning CPU until they are aborted or killed, and
// nothing is left behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/workloads/softcuda/nccl/ranks.h"

namespace softcuda_test {
namespace {

float* device(size_t count) {
  void* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(float));
  return static_cast<float*>(memory);
}

size_t sharedMemoryFiles() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    count += entry.path().string().find("nccl") != std::string::npos ? 1 : 0;
  }
  return count;
}

TEST(LostRank, TheOthersWaitWithoutBurningCpu) {
  const auto children = startRanks(2, [](Rank& r) {
    if (r.rank == 1) {
      raise(SIGKILL);
    }
    float* const data = device(1);
    NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    r.wait();  // never returns
  });
  ASSERT_EQ(children.size(), 2u);
  EXPECT_TRUE(WIFSIGNALED(awaitChild(children[1])));
  usleep(100000);
  const double before = cpuSeconds(children[0]);
  usleep(500000);
  EXPECT_LE(cpuSeconds(children[0]) - before, 0.05);
  int status = 0;
  EXPECT_EQ(waitpid(children[0], &status, WNOHANG), 0) << "the survivor must still wait";
  kill(children[0], SIGKILL);
  awaitChild(children[0]);
  EXPECT_EQ(sharedMemoryFiles(), 0u);
}

TEST(LostRank, AbortFreesAWaitingKernel) {
  const auto children = startRanks(2, [](Rank& r) {
    if (r.rank == 1) {
      raise(SIGKILL);
    }
    float* const data = device(1);
    NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    usleep(50000);
    REQUIRE(cudaStreamQuery(r.stream) == cudaErrorNotReady);
    NCCL_OK(ncclCommAbort(r.comm));
    r.comm = nullptr;
    r.wait();  // both kernels end
  });
  awaitChild(children[1]);
  EXPECT_EQ(awaitChild(children[0], 20), 0);
}

TEST(LostRank, AbortFreesASendThatNobodyReceives) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    float* const data = device(1 << 20);
    if (r.rank == 0) {
      NCCL_OK(ncclSend(data, 1 << 20, ncclFloat32, 1, r.comm, r.stream));
      usleep(20000);
      NCCL_OK(ncclCommAbort(r.comm));
      r.comm = nullptr;
      r.wait();
    }
  }));
}

TEST(LostRank, ASurvivorsOtherCommunicatorStillWorks) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    ncclComm_t second = nullptr;
    NCCL_OK(ncclCommSplit(r.comm, 0, r.rank, &second, nullptr));
    float* const data = device(1);
    data[0] = 1;
    if (r.rank == 0) {
      NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, second, r.stream));
      NCCL_OK(ncclCommAbort(second));
      r.wait();
      data[0] = 1;
    }
    NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    r.wait();
    REQUIRE(data[0] == 2);
    if (r.rank == 1) {
      NCCL_OK(ncclCommAbort(second));
    }
  }));
}

TEST(LostRank, AnIdWhoseProcessHasGoneIsRefused) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const int maker = fork();
  if (maker == 0) {
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    _exit(write(channel[1], &id, sizeof id) == sizeof id ? 0 : 1);
  }
  ncclUniqueId id;
  ASSERT_EQ(read(channel[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
  awaitChild(maker);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSystemError);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("ncclGetUniqueId"), std::string::npos);
}

}  // namespace
}  // namespace softcuda_test
