// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/workloads/softcuda/nccl/ranks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

namespace softcuda_test {

std::vector<int> startRanks(int ranks, const Body& body, bool join) {
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) {
    return {};
  }
  std::vector<int> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const int child = fork();
    if (child == 0) {
      Rank r{rank, ranks, id};
      cudaStreamCreate(&r.stream);
      if (join) {
        NCCL_OK(ncclCommInitRank(&r.comm, ranks, id, rank));
      }
      body(r);
      if (join && r.comm) {
        NCCL_OK(ncclCommDestroy(r.comm));
      }
      std::fflush(nullptr);
      _exit(0);
    }
    children.push_back(child);
  }
  return children;
}

int awaitChild(int pid, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return status;
}

bool runRanks(int ranks, const Body& body, bool join) {
  const std::vector<int> children = startRanks(ranks, body, join);
  bool good = !children.empty();
  for (const int child : children) {
    good = awaitChild(child) == 0 && good;
  }
  return good;
}

double cpuSeconds(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return -1;
  }
  std::istringstream fields(text.substr(name_end + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) {
    fields >> skipped;
  }
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace softcuda_test
