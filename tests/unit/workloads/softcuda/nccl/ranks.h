// SPDX-License-Identifier: Apache-2.0
// Runs a body as several real processes, the ranks of a communicator. The test's own process never touches the device,
// so it may fork as often as it likes.
#pragma once
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace softcuda_test {

// One rank's view; lives in the child.
struct Rank {
  int rank = 0;
  int ranks = 0;
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;  // set unless the body joins itself
  cudaStream_t stream = nullptr;

  void wait() const { cudaStreamSynchronize(stream); }
};

// In a child: ends it with a message when the condition does not hold.
#define REQUIRE(CONDITION)                                                                          \
  do {                                                                                              \
    if (!(CONDITION)) {                                                                             \
      std::fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, r.rank, #CONDITION); \
      _exit(1);                                                                                     \
    }                                                                                               \
  } while (false)
#define NCCL_OK(CALL) REQUIRE((CALL) == ncclSuccess)

using Body = std::function<void(Rank&)>;

// Starts the processes; each joins a communicator of `ranks` ranks (unless join is false), runs body, leaves it and
// exits 0.
std::vector<int> startRanks(int ranks, const Body& body, bool join = true);
// The wait status of a child; -1 if it still runs after the given time (it is then killed).
int awaitChild(int pid, double seconds = 60);
// True if all ranks exited with 0.
bool runRanks(int ranks, const Body& body, bool join = true);

// CPU seconds that a process has used.
double cpuSeconds(int pid);

}  // namespace softcuda_test
