// SPDX-License-Identifier: Apache-2.0
// What NCCL declares and the software device has not: communicators of kernels.
#include "workloads/softcuda/unsupported.h"

namespace {
int softcuda_stub_result(const char* call) {
  softcuda::reportUnsupported(call);
  return 5;  // ncclInvalidUsage; the headers would contradict the definitions below
}
}  // namespace

#include "nccl_stubs.inc"
