// SPDX-License-Identifier: Apache-2.0
// The device's side of the roofline: what it could do, and what a share of that means.
#include <algorithm>
#include <array>

#include "analyzer/analyses/device_datasheets.h"
#include "analyzer/analyses/roofline.h"

namespace plumb {
namespace {

// FLOP per clock and multiprocessor, dense, from NVIDIA's architecture white papers (a fused multiply-add is two). 0:
// the unit does not exist. fp32 and fp64 are the ordinary units except where the matrix unit is faster (fp64 of 8.0
// and 9.0).
struct Peak {
  int major, minor;
  double fp64, fp32, tf32, half, fp8;  // half: fp16 and, from 8.0 on, bf16
  bool fp64OnTensorCores;
};
constexpr Peak kPeaks[] = {
    {7, 0, 64, 128, 0, 1024, 0, false},       {7, 5, 4, 128, 0, 1024, 0, false},
    {8, 0, 128, 128, 1024, 2048, 0, true},    {8, 6, 4, 256, 512, 1024, 0, false},
    {8, 7, 4, 256, 512, 1024, 0, false},      {8, 9, 4, 256, 512, 1024, 2048, false},
    {9, 0, 256, 256, 2048, 4096, 8192, true}, {10, 0, 128, 256, 4096, 8192, 16384, false},
};

}  // namespace

std::string_view nameOf(WorkSource source) { return source == WorkSource::Shape ? "shape" : "declared"; }
std::string_view nameOf(RoofSource source) {
  static constexpr std::array<std::string_view, 3> kNames = {"measured", "datasheet", "given"};
  return kNames[static_cast<size_t>(source)];
}

std::string_view nameOf(Verdict verdict) {
  static constexpr std::array<std::string_view, kVerdictCount> kNames = {"memory-bound", "compute-bound",
                                                                         "latency-bound", "above a roof", "cannot say"};
  return kNames[static_cast<size_t>(verdict)];
}

std::string_view verdictRule() {
  return "memory-bound: above 75 % of the memory roof and below 25 % of the compute roof; compute-bound: above 75 % of "
         "the "
         "compute roof and below 50 % of the memory roof; otherwise the larger of the two if above 60 %; else "
         "latency-bound, far below both roofs; its reason says whether short kernels or small grids show why";
}

std::string_view remedyFor(const RooflinePoint& point) {
  switch (point.verdict) {
    case Verdict::MemoryBound:
      return "fuse kernels, use smaller types, enlarge the batch";
    case Verdict::ComputeBound:
      return "lower the precision, keep dimensions multiples of 64 or 128, use a bigger GPU";
    case Verdict::LatencyBound:
      return point.isShortOrSmall ? "enlarge the batch, use CUDA graphs, launch fewer kernels"
                                  : "see with ncu (of AMD's GPUs rocprof) what holds it back";
    case Verdict::AboveRoof:
      return "check the FLOPs, bytes and roof: no kernel is faster than its device";
    default:
      return "";
  }
}

Verdict verdictOf(double computeShare, double memoryShare) {
  if (computeShare > 1 || memoryShare > 1) return Verdict::AboveRoof;
  if (memoryShare > 0.75 && computeShare < 0.25) return Verdict::MemoryBound;
  if (computeShare > 0.75 && memoryShare < 0.50) return Verdict::ComputeBound;
  if (std::max(computeShare, memoryShare) > 0.60) {
    return computeShare > memoryShare ? Verdict::ComputeBound : Verdict::MemoryBound;
  }
  return Verdict::LatencyBound;
}

std::vector<Roof> datasheetRoofs(const Device& device) {
  std::vector<Roof> roofs;
  if (device.isSoftware) return roofs;
  const auto peak = std::find_if(std::begin(kPeaks), std::end(kPeaks), [&](const Peak& p) {
    return p.major == device.computeMajor && p.minor == device.computeMinor;
  });
  const double clocks = static_cast<double>(device.multiprocessorCount) * static_cast<double>(device.coreClockHz);
  if (peak != std::end(kPeaks) && clocks > 0) {
    const auto add = [&](const char* resource, double perClock, bool tensorCores) {
      if (perClock > 0) roofs.push_back({resource, perClock * clocks, RoofSource::Datasheet, tensorCores});
    };
    add("fp64", peak->fp64, peak->fp64OnTensorCores);
    add("fp32", peak->fp32, false);
    add("tf32", peak->tf32, true);
    add("fp16", peak->half, true);
    if (peak->major >= 8) add("bf16", peak->half, true);
    add("fp8", peak->fp8, true);
  }
  if (device.memoryBandwidthBytesPerSecond > 0) {
    roofs.push_back(
        {"memory", static_cast<double>(device.memoryBandwidthBytesPerSecond), RoofSource::Datasheet, false});
  }
  for (Roof& named : namedRoofs(device.name)) {
    const bool isKnown = std::ranges::any_of(roofs, [&](const Roof& roof) { return roof.resource == named.resource; });
    if (!isKnown) roofs.push_back(std::move(named));
  }
  return roofs;
}

namespace {
int rankOf(RoofSource source) { return source == RoofSource::Given ? 2 : source == RoofSource::Measured ? 1 : 0; }
}  // namespace

const Roof* bestRoof(const std::vector<Roof>& roofs, std::string_view resource) {
  const Roof* best = nullptr;
  for (const Roof& roof : roofs) {
    if (roof.resource == resource && (!best || rankOf(roof.source) > rankOf(best->source))) best = &roof;
  }
  return best;
}

const Roof* DeviceRoofline::roof(std::string_view resource) const { return bestRoof(roofs, resource); }

}  // namespace plumb
