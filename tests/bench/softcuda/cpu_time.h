// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <ctime>

namespace softcuda_bench {

// CPU seconds of the whole process.
inline double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The least CPU time of one call of body, of several tries of `repeats` calls each.
template <typename Body>
double leastCpuSeconds(int repeats, Body body) {
  body();
  double least = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const double start = cpuSeconds();
    for (int i = 0; i < repeats; ++i) {
      body();
    }
    least = std::min(least, (cpuSeconds() - start) / repeats);
  }
  return least;
}

}  // namespace softcuda_bench
