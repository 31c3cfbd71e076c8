// SPDX-License-Identifier: Apache-2.0
// Mixed precision: in which number formats matrix products were computed, what conversions between formats cost, and
// how the loss was scaled. Matrix products are, whichever the process has first:
//   library call      shape, compute type and kernels from the library itself
//   operator          a framework's mm, addmm, bmm or baddbmm with its operands' shapes and type
//   convolution       a framework's operator that launches the kernels of a convolution or of its backward
//   kernel name       GEMM and convolution kernels whose name says the format; their FLOPs are not known
// Where an operator's arguments do not tell the format, or tell fp32, which may be computed in tf32, its kernels' names
// do. A convolution of fp32 operands on a device with tf32 whose kernels do not say which is of unknown format.
// Conversions: operators that copy from one type to another, and ranges called cast with their declared bytes.
// Loss scale: samples of a counter whose name has both 'loss' and 'scale' (or 'grad' and 'scale'), and the payload of
// ranges called unscale. Skipped steps: ranges called 'skipped step' and falls of the scale.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct MatrixProducts {
  std::string dtype;  // "fp32" "tf32" "fp16" "bf16" …, "unknown"
  const char* source = "";
  int64_t count = 0;
  std::optional<double> flops;
  Duration gpuTime;                // summed durations of their kernels
  std::optional<int64_t> longest;  // row of the longest kernel
  Interval longestTime;
  std::optional<int64_t>
      inAutocast;  // of them, inside a range or operator with 'autocast' in its name; none: there is none
};

struct Conversions {
  std::string types;  // "bf16 to fp32", "" where it is not told
  const char* source = "";
  int64_t count = 0;
  std::optional<int64_t> bytes;  // read and written
  Duration gpuTime;
};

struct ScaleSample {
  TimePoint time;
  double scale = 0;
};

struct ProcessPrecision {
  ProcessId process;
  std::vector<MatrixProducts> products;  // the longest GPU time first
  std::vector<Conversions> conversions;  // likewise
  std::vector<ScaleSample> scales;       // by time
  std::vector<TimePoint> skippedSteps;   // declared ones, else where the scale fell
  bool skipsAreDeclared = false;
};

// Processes that have any of it, in order of rank. Host events that begin in the filter's host windows.
[[nodiscard]] Result<std::vector<ProcessPrecision>> analyzePrecision(Trace& trace, const Filter& filter);

// The format that the name of a GEMM or convolution kernel tells, "" for another kernel, "unknown" where it does not
// say.
[[nodiscard]] std::string_view formatOfGemmKernel(std::string_view name);
// "float" -> "fp32", "c10::Half" -> "fp16" …; "" for what is no floating-point type.
[[nodiscard]] std::string_view formatOfTorchType(std::string_view type);
[[nodiscard]] int64_t bytesOfFormat(std::string_view format);  // 0: not known

}  // namespace plumb
