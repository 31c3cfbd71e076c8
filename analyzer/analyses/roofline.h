// SPDX-License-Identifier: Apache-2.0
// Kernels against the device's roofs. Arithmetic intensity = FLOP / byte to and from device memory; attained = FLOP /
// duration. Where FLOPs and bytes come from is part of every point and points of different sources are never merged:
//   shape     a library call with m, n, k (2 m n k; bytes = operands read once + result written once, a lower bound),
//             joined to its kernels by correlation_link; or an operator of a framework with the dimensions of its
//             arguments (operator_work.h), joined to its kernels by operator_launch. The types of lists of tensors
//             are those that its kernels name
//   declared  NVTX payload fields `flops` and `bytes` of the innermost range that has them around the launch call, on
//   its thread
// When a call or range launched several kernels its FLOPs belong to all of them: the point is named after the longest
// and its duration is their sum.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class WorkSource : uint8_t { Shape, Declared };
[[nodiscard]] std::string_view nameOf(WorkSource source);

enum class RoofSource : uint8_t { Measured, Datasheet, Given };  // Given: for this call, by the user
[[nodiscard]] std::string_view nameOf(RoofSource source);

struct Roof {
  // "fp32" "tf32" "fp16" "bf16" "fp8" "fp64" (FLOP/s), "memory" (bytes/s); in one direction: "network" (a collective's
  // bus bandwidth), "nvlink" (to other GPUs of the host, also Infinity Fabric), "pcie" (to the host)
  std::string resource;
  double perSecond = 0;
  RoofSource source = RoofSource::Measured;
  bool tensorCores = false;  // datasheet roofs: which unit it is
};

enum class Verdict : uint8_t {
  MemoryBound,
  ComputeBound,
  LatencyBound,  // below both roofs; `reason` says whether the recording shows why
  AboveRoof,     // attained more than a roof allows: the inputs (FLOPs, bytes, times or roof) are wrong
  CannotSay,     // no roof, no bytes or no time; `reason` says which
};
inline constexpr size_t kVerdictCount = 5;
[[nodiscard]] std::string_view nameOf(Verdict verdict);
[[nodiscard]] std::string_view verdictRule();  // for the user

struct RooflinePoint {
  std::string name;               // the kernel's short name; "" by operation
  std::string operation;          // library function, operator, or name of the declaring range
  std::string precision;          // the compute roof it is compared with: "bf16" …
  bool precisionAssumed = false;  // taken as fp32: declared work without a `dtype`, or float operands that may use tf32
  WorkSource source = WorkSource::Shape;
  int64_t count = 0;  // calls or ranges
  int64_t kernelCount = 0;
  Duration duration;  // sum over the kernels
  double flops = 0;
  double bytes = 0;                      // 0: not known
  std::optional<double> intensity;       // FLOP / byte
  std::optional<double> flopsPerSecond;  // attained
  std::optional<double> bytesPerSecond;  // attained
  std::optional<double> computeShare;    // attained / compute roof
  std::optional<double> memoryShare;     // attained / memory roof
  Verdict verdict = Verdict::CannotSay;
  std::string reason;           // of CannotSay, AboveRoof and LatencyBound
  bool isShortOrSmall = false;  // of LatencyBound: short kernels or small grids show it
  int64_t blocks = 0;           // of its kernel with the largest grid; 0: not known
};

// What helps against a point's verdict, for the user; "" when nothing is known.
[[nodiscard]] std::string_view remedyFor(const RooflinePoint& point);

struct UnknownWork {
  std::string name;
  std::string operation, why;  // the operator that launched it, and why its work is not known; "": none
  int64_t count = 0;
  Duration duration;
};

// The roof of a resource that counts: given before measured before datasheet; null when there is none.
[[nodiscard]] const Roof* bestRoof(const std::vector<Roof>& roofs, std::string_view resource);

struct DeviceRoofline {
  ProcessId process;
  std::optional<int64_t> rank;
  DeviceId device;
  std::vector<Roof> roofs;                // at most one per resource and source
  std::vector<RooflinePoint> points;      // longest total duration first
  std::vector<UnknownWork> withoutFlops;  // kernels that are not communication; longest first: "no FLOPs known"
  Duration knownDuration, unknownDuration;
  // For the user, how to know what is not known: the FLOPs of withoutFlops, and a roof. They follow from where the file
  // comes from.
  std::string howToKnowFlops, howToKnowRoofs;

  [[nodiscard]] const Roof* roof(std::string_view resource) const;
};

// One per device that ran kernels that start in a GPU window of the filter, in order of rank.
enum class RooflineBy : uint8_t { Kernel, Operation };
[[nodiscard]] Result<std::vector<DeviceRoofline>> analyzeRoofline(Trace& trace, const Filter& filter = {},
                                                                  RooflineBy by = RooflineBy::Kernel);

// Pure parts. The roofs that the device's properties tell, else those of its name (device_datasheets.h).
[[nodiscard]] std::vector<Roof> datasheetRoofs(const Device& device);
[[nodiscard]] Verdict verdictOf(double computeShare, double memoryShare);

}  // namespace plumb
