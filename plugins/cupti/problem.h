// SPDX-License-Identifier: Apache-2.0
// Why the GPU lane is off, as one sentence for the user.
#pragma once
#include <cstddef>
#include <cstdint>

namespace plumb::cupti {

enum class Problem { kNoLibrary, kMissingFunction, kNoDriver, kDriverTooOld, kHeld, kNoPermission, kOther };

struct ProblemDetails {
  Problem problem;
  int result;              // CUptiResult
  const char* resultText;  // CUPTI's name of it
  uint32_t version;        // of CUPTI; 0: not known
  const char* detail;      // a function's name; NULL where the problem needs none
};

void describeProblem(const ProblemDetails& why, char* out, size_t outBytes) noexcept;

}  // namespace plumb::cupti
