// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cublas/unsupported.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace softcublas {

void reportUnsupported(const char* call, const char* what) {
  static std::mutex* const mutex = new std::mutex;
  static std::set<std::string>* const seen = new std::set<std::string>;
  const std::lock_guard lock(*mutex);
  if (seen->insert(call).second) {
    std::fprintf(stderr, "softcuda: %s: %s; the software device does not implement it\n", call, what);
  }
}

}  // namespace softcublas
