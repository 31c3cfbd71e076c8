// SPDX-License-Identifier: Apache-2.0
// What CUPTI declares and the software device has not: events, metrics, counters, sampling, SASS.
#include "workloads/softcuda/unsupported.h"

namespace {
int softcuda_stub_result(const char* call) {
  softcuda::reportUnsupported(call);
  return 27;  // CUPTI_ERROR_NOT_SUPPORTED; the headers would contradict the definitions below
}
}  // namespace

#include "cupti_stubs.inc"
