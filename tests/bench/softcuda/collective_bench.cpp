// SPDX-License-Identifier: Apache-2.0
// Collectives of the software device between two processes against memcpy of the bytes that one rank ends up with.
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/bench/softcuda/cpu_time.h"

namespace {

constexpr int kRanks = 2;

void runRank(const ncclUniqueId& id, int rank) {
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, kRanks, id, rank) != ncclSuccess) {
    return;
  }
  for (const size_t count : {size_t{64} << 10, size_t{4} << 20}) {  // fp32 elements per rank
    std::vector<float> small(count), large(count * kRanks), copy(count * kRanks);
    const int repeats = count > 1'000'000 ? 4 : 100;
    const auto measure = [&](auto call) {
      return softcuda_bench::leastCpuSeconds(repeats, [&] {
        call();
        cudaDeviceSynchronize();
      });
    };
    const double gather =
        measure([&] { ncclAllGather(small.data(), large.data(), count, ncclFloat32, comm, nullptr); });
    const double scatter =
        measure([&] { ncclReduceScatter(large.data(), small.data(), count, ncclFloat32, ncclSum, comm, nullptr); });
    const double copied = measure([&] { std::memcpy(copy.data(), large.data(), copy.size() * sizeof(float)); });
    if (rank == 0) {
      std::printf("  %6zu KiB per rank: all-gather %.1f x, reduce-scatter %.1f x the CPU time of memcpy\n",
                  count * sizeof(float) / 1024, gather / copied, scatter / copied);
    }
  }
  ncclCommDestroy(comm);
}

}  // namespace

int main() {
  std::printf("software device: collectives of two processes, against memcpy of all ranks' data\n");
  std::fflush(stdout);
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) {
    return 1;
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    if (fork() == 0) {
      runRank(id, rank);
      std::fflush(stdout);
      _exit(0);
    }
  }
  int failed = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    int status = 0;
    wait(&status);
    failed |= status;
  }
  return failed != 0;
}
