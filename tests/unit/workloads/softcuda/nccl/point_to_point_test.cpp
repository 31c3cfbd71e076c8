// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/workloads/softcuda/nccl/ranks.h"

namespace softcuda_test {
namespace {

float* device(size_t count) {
  void* memory = nullptr;
  cudaMalloc(&memory, count * sizeof(float));
  return static_cast<float*>(memory);
}

class PointToPoint : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, PointToPoint, testing::Values(1, 2, 4), testing::PrintToStringParamName());

// Everybody sends and receives at once; far more than the rings hold.
TEST_P(PointToPoint, AGroupedRingDoesNotDeadlock) {
  EXPECT_TRUE(runRanks(GetParam(), [](Rank& r) {
    constexpr size_t kCount = 700001;
    float* const send = device(kCount);
    float* const receive = device(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      send[i] = static_cast<float>(r.rank * 1000 + static_cast<int>(i % 997));
    }
    const int next = (r.rank + 1) % r.ranks, previous = (r.rank + r.ranks - 1) % r.ranks;
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclSend(send, kCount, ncclFloat32, next, r.comm, r.stream));
    NCCL_OK(ncclRecv(receive, kCount, ncclFloat32, previous, r.comm, r.stream));
    NCCL_OK(ncclGroupEnd());
    r.wait();
    for (size_t i = 0; i < kCount; ++i) {
      REQUIRE(receive[i] == static_cast<float>(previous * 1000 + static_cast<int>(i % 997)));
    }
  }));
}

TEST_P(PointToPoint, AllToAllByHandAndByCall) {
  EXPECT_TRUE(runRanks(GetParam(), [](Rank& r) {
    constexpr size_t kCount = 40000;
    const auto n = static_cast<size_t>(r.ranks);
    float* const send = device(kCount * n);
    float* const receive = device(kCount * n);
    for (size_t i = 0; i < kCount * n; ++i) {
      send[i] = static_cast<float>(r.rank * 10 + static_cast<int>(i / kCount));
    }
    for (const bool by_hand : {true, false}) {
      cudaMemset(receive, 0, kCount * n * sizeof(float));
      if (by_hand) {
        NCCL_OK(ncclGroupStart());
        for (int peer = 0; peer < r.ranks; ++peer) {
          NCCL_OK(ncclSend(send + static_cast<size_t>(peer) * kCount, kCount, ncclFloat32, peer, r.comm, r.stream));
          NCCL_OK(ncclRecv(receive + static_cast<size_t>(peer) * kCount, kCount, ncclFloat32, peer, r.comm, r.stream));
        }
        NCCL_OK(ncclGroupEnd());
      } else {
        NCCL_OK(ncclAlltoAll(send, receive, kCount, ncclFloat32, r.comm, r.stream));
      }
      r.wait();
      for (size_t i = 0; i < kCount * n; ++i) {
        REQUIRE(receive[i] == static_cast<float>(static_cast<int>(i / kCount) * 10 + r.rank));
      }
    }
  }));
}

TEST(PointToPointOrder, MessagesBetweenTwoRanksStayInOrder) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    float* const data = device(4);
    NCCL_OK(ncclGroupStart());
    for (int i = 0; i < 4; ++i) {
      if (r.rank == 0) {
        data[i] = static_cast<float>(i + 1);
        NCCL_OK(ncclSend(data + i, 1, ncclFloat32, 1, r.comm, r.stream));
      } else {
        NCCL_OK(ncclRecv(data + i, 1, ncclFloat32, 0, r.comm, r.stream));
      }
    }
    NCCL_OK(ncclGroupEnd());
    r.wait();
    REQUIRE(data[0] == 1 && data[1] == 2 && data[2] == 3 && data[3] == 4);
  }));
}

TEST(PointToPointOrder, RanksThatAreNotInvolvedGoOn) {
  EXPECT_TRUE(runRanks(4, [](Rank& r) {
    float* const data = device(1);
    data[0] = static_cast<float>(r.rank);
    if (r.rank == 1) {
      NCCL_OK(ncclSend(data, 1, ncclFloat32, 3, r.comm, r.stream));
    } else if (r.rank == 3) {
      NCCL_OK(ncclRecv(data, 1, ncclFloat32, 1, r.comm, r.stream));
    }
    r.wait();
    NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    r.wait();
    REQUIRE(data[0] == 0 + 1 + 2 + 1);
  }));
}

TEST(PointToPointOrder, GatherAndScatter) {
  EXPECT_TRUE(runRanks(4, [](Rank& r) {
    float* const one = device(1);
    float* const all = device(4);
    one[0] = static_cast<float>(r.rank + 5);
    NCCL_OK(ncclGather(one, all, 1, ncclFloat32, 2, r.comm, r.stream));
    r.wait();
    REQUIRE(r.rank != 2 || (all[0] == 5 && all[3] == 8));
    NCCL_OK(ncclScatter(all, one, 1, ncclFloat32, 2, r.comm, r.stream));
    r.wait();
    REQUIRE(one[0] == static_cast<float>(r.rank + 5));
  }));
}

TEST(Groups, CollectivesAndMessagesTogether) {
  EXPECT_TRUE(runRanks(2, [](Rank& r) {
    float* const data = device(3);
    data[0] = 1;
    data[1] = static_cast<float>(r.rank);
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclSend(data + 1, 1, ncclFloat32, 1 - r.rank, r.comm, r.stream));
    NCCL_OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    NCCL_OK(ncclRecv(data + 2, 1, ncclFloat32, 1 - r.rank, r.comm, r.stream));
    NCCL_OK(ncclGroupEnd());
    r.wait();
    REQUIRE(data[0] == 2 && data[2] == static_cast<float>(1 - r.rank));
  }));
}

TEST(Groups, NothingIsLaunchedBeforeTheOutermostEnd) {
  EXPECT_TRUE(runRanks(1, [](Rank& r) {
    float* const data = device(2);
    data[0] = 1, data[1] = 7;
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclAllReduce(data, data + 1, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    NCCL_OK(ncclGroupEnd());
    r.wait();
    REQUIRE(data[1] == 7);
    NCCL_OK(ncclGroupEnd());
    r.wait();
    REQUIRE(data[1] == 1);
    REQUIRE(ncclGroupEnd() == ncclInvalidUsage);
  }));
}

TEST(Groups, AnErrorInsideIsReportedAtTheEndAndNothingRuns) {
  EXPECT_TRUE(runRanks(1, [](Rank& r) {
    float* const data = device(2);
    data[0] = 1, data[1] = 7;
    NCCL_OK(ncclGroupStart());
    NCCL_OK(ncclAllReduce(data, data + 1, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    REQUIRE(ncclSend(data, 1, ncclFloat32, 5, r.comm, r.stream) == ncclInvalidArgument);
    REQUIRE(ncclGroupEnd() == ncclInvalidArgument);
    r.wait();
    REQUIRE(data[1] == 7);
    NCCL_OK(ncclAllReduce(data, data + 1, 1, ncclFloat32, ncclSum, r.comm, r.stream));
    r.wait();
    REQUIRE(data[1] == 1);
  }));
}

}  // namespace
}  // namespace softcuda_test
