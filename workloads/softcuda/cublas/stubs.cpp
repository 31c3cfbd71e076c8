// SPDX-License-Identifier: Apache-2.0
// What cuBLAS and cuBLASLt declare and the software device has not. PLUMB_STUBS: the generated list.
#include "workloads/softcuda/unsupported.h"

namespace {
int softcuda_stub_result(const char* call) {
  softcuda::reportUnsupported(call);
  return 15;  // CUBLAS_STATUS_NOT_SUPPORTED; the headers would contradict the definitions below
}
}  // namespace

#include PLUMB_STUBS
