// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/problem.h"

#include <cstdio>

namespace plumb::cupti {

void describeProblem(const ProblemDetails& why, char* out, size_t outBytes) noexcept {
  switch (why.problem) {
    case Problem::kNoLibrary:
      snprintf(out, outBytes,
               "libcupti.so.13 or .12 was not found, so GPU work is not recorded: install CUPTI (package "
               "nvidia-cuda-cupti, or "
               "the CUDA toolkit) or put its folder on LD_LIBRARY_PATH.");
      break;
    case Problem::kMissingFunction:
      snprintf(out, outBytes,
               "The loaded libcupti lacks %s, so GPU work is not recorded: CUDA 12.0 or newer is needed.", why.detail);
      break;
    case Problem::kNoDriver:
      snprintf(out, outBytes, "GPU work is not recorded: no NVIDIA driver is usable in this process (CUPTI error %d).",
               why.result);
      break;
    case Problem::kDriverTooOld:
      snprintf(
          out, outBytes,
          "CUPTI version %u cannot initialise (error %d): the NVIDIA driver is older than it needs, so GPU work is not "
          "recorded; update the driver or use an older CUDA.",
          why.version, why.result);
      break;
    case Problem::kHeld:
      snprintf(
          out, outBytes,
          "Another tool already holds CUPTI in this process (Nsight Systems or Compute, cuda-gdb, compute-sanitizer, "
          "torch.profiler, Triton's Proton): GPU work is not recorded; stop that tool to record it here.");
      break;
    case Problem::kNoPermission:
      snprintf(
          out, outBytes,
          "This user may not profile the GPU (CUPTI error %d), so GPU work is not recorded: ask for the driver option "
          "NVreg_RestrictProfilingToAdminUsers=0.",
          why.result);
      break;
    case Problem::kOther:
      snprintf(out, outBytes, "CUPTI refused %s (error %d, %s), so GPU work is not recorded.", why.detail, why.result,
               why.resultText);
      break;
  }
}

}  // namespace plumb::cupti
