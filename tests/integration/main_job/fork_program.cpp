// SPDX-License-Identifier: Apache-2.0
// As a data loader does: marks some work, forks workers that mark theirs, waits for them.
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

int main() {
  nvtxRangePushA("parent");
  for (int worker = 0; worker < 3; ++worker) {
    if (fork() == 0) {
      for (int i = 0; i < 2; ++i) {
        nvtxRangePushA("worker");
        nvtxRangePop();
      }
      _exit(0);
    }
  }
  while (wait(nullptr) > 0) {
  }
  nvtxRangePop();
  return 0;
}
