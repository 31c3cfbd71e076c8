// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>

#include "workloads/softcuda/cublas/unsupported.h"

// What every generated stub returns.
extern "C" int softcublas_unimplemented(const char* call) {
  softcublas::reportUnsupported(call, "called");
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
