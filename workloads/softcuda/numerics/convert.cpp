// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/numerics/convert.h"

#include <cstring>
#include <initializer_list>

namespace softcuda {

namespace portable {
extern const Conversions kConversions;
}
#ifdef SOFTCUDA_X86
namespace avx2 {
extern const Conversions kConversions;
}
namespace avx512 {
extern const Conversions kConversions;
}
#endif

const Conversions* conversionsFor(const char* isa) {
#ifdef SOFTCUDA_X86
  if (std::strcmp(isa, "avx512") == 0) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
               ? &avx512::kConversions
               : nullptr;
  }
  if (std::strcmp(isa, "avx2") == 0) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") ? &avx2::kConversions : nullptr;
  }
#endif
  return std::strcmp(isa, "portable") == 0 ? &portable::kConversions : nullptr;
}

const Conversions& conversions() {
  static const Conversions* const best = [] {
    for (const char* isa : {"avx512", "avx2"}) {
      if (const Conversions* found = conversionsFor(isa)) {
        return found;
      }
    }
    return &portable::kConversions;
  }();
  return *best;
}

}  // namespace softcuda
