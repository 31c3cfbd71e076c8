// SPDX-License-Identifier: Apache-2.0
// Conversions between fp32 and the 16-bit formats, exactly as a GPU does them: widening is exact, narrowing rounds to
// nearest even, overflow gives infinity, NaN stays NaN, subnormals are kept. Vectorised; the code for the CPU at hand
// is chosen once. All functions are thread-safe; source and destination may not overlap unless they are the same array
// of the same element size.
#pragma once
#include <cstddef>
#include <cstdint>

namespace softcuda {

struct Conversions {
  void (*fp16_to_fp32)(const uint16_t* from, float* to, size_t count);
  void (*bf16_to_fp32)(const uint16_t* from, float* to, size_t count);
  void (*fp32_to_fp16)(const float* from, uint16_t* to, size_t count);
  void (*fp32_to_bf16)(const float* from, uint16_t* to, size_t count);
  // 10 mantissa bits, nearest, ties away from zero (as cvt.rna.tf32.f32); the result is still stored as fp32.
  void (*fp32_to_tf32)(const float* from, float* to, size_t count);
};

// The fastest set that this CPU can run.
const Conversions& conversions();

// The sets by name ("portable", "avx2", "avx512"), nullptr where this CPU cannot run it. For tests.
const Conversions* conversionsFor(const char* isa);

}  // namespace softcuda
