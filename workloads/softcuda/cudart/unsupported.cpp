// SPDX-License-Identifier: Apache-2.0
// What the runtime API has and this device has not: each call fails with cudaErrorNotSupported and is named once on
// stderr. CUDA's headers are left out on purpose: the functions are declared without their parameters, which C's
// calling convention allows as long as nobody looks at them.

extern "C" {
int softcuda_unsupported(const char* call);

#define SOFTCUDA_UNSUPPORTED(name) \
  int name(void) { return softcuda_unsupported(#name); }
#include "workloads/softcuda/cudart/unsupported.def"
#undef SOFTCUDA_UNSUPPORTED
}
