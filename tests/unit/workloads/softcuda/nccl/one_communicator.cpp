// SPDX-License-Identifier: Apache-2.0
// Makes a communicator of one rank and ends it.
#include <nccl.h>

int main() {
  ncclComm_t comm = nullptr;
  return ncclCommInitAll(&comm, 1, nullptr) == ncclSuccess && ncclCommDestroy(comm) == ncclSuccess ? 0 : 1;
}
