// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/analyses/roofline_work.h"
#include "analyzer/analyses/small_kernels.h"

namespace plumb {
namespace {

// Below both roofs: whether short kernels or small grids are to blame. Short, because tables cut long texts.
void explainLow(RooflinePoint& point, int64_t multiprocessors) {
  const Duration average(point.duration.ns() / std::max<int64_t>(point.kernelCount, 1));
  if (average < kSmallKernel) {
    point.reason = fmt::format("short kernels: {:.1f} us", static_cast<double>(average.ns()) / 1e3);
  } else if (point.blocks > 0 && point.blocks < multiprocessors) {
    point.reason = fmt::format("small grids: {}/{} SMs", point.blocks, multiprocessors);
  } else {
    point.reason = "neither short nor small";
    return;
  }
  point.isShortOrSmall = true;
}

void judge(RooflinePoint& point, const DeviceRoofline& device, int64_t multiprocessors) {
  if (point.duration.ns() <= 0) {
    point.reason = "its kernels have no duration";
    return;
  }
  point.flopsPerSecond = point.flops / point.duration.seconds();
  if (point.bytes > 0) {
    point.bytesPerSecond = point.bytes / point.duration.seconds();
    point.intensity = point.flops / point.bytes;
  }
  const Roof* compute = device.roof(point.precision);
  const Roof* memory = device.roof("memory");
  if (compute) point.computeShare = *point.flopsPerSecond / compute->perSecond;
  if (point.flops == 0) point.computeShare = 0;  // of whatever roof
  if (memory && point.bytesPerSecond) point.memoryShare = *point.bytesPerSecond / memory->perSecond;
  const auto above = [&](const std::optional<double>& share, const Roof* roof) {
    if (!share || *share <= 1) return;
    point.verdict = Verdict::AboveRoof;
    point.reason =
        fmt::format("{:.0f} % of the {} {} roof: {}", *share * 100, nameOf(roof->source), roof->resource,
                    roof == memory ? "not all bytes went to memory (caches), or bytes, time or roof are wrong"
                                   : "its FLOPs, time or the roof are wrong; if others used the machine during plumb "
                                     "calibrate, measure again");
  };
  above(point.memoryShare, memory);
  above(point.computeShare, compute);
  if (point.verdict == Verdict::AboveRoof) return;
  if (point.computeShare && point.memoryShare) {
    point.verdict = verdictOf(*point.computeShare, *point.memoryShare);
    if (point.verdict == Verdict::LatencyBound) explainLow(point, multiprocessors);
  } else if (!compute && point.flops != 0 && point.precision.empty()) {
    point.reason = "the precision of its operations is not known";
  } else if (!compute && point.flops != 0) {
    point.reason = fmt::format("no {0} roof of the device is known: {1}, as in --peak {0}=100TFLOPS", point.precision,
                               device.howToKnowRoofs);
  } else if (!memory) {
    point.reason =
        fmt::format("no memory roof of the device is known: {}, as in --peak memory=2TB/s", device.howToKnowRoofs);
  } else {
    point.reason = "its bytes are not known";
  }
}

// Works with the same kernel (or none of that, by operation), operation, precision and source become one point of their
// device.
void addPoints(Trace& trace, CollectedWork& collected, RooflineBy by,
               std::map<std::pair<ProcessId, DeviceId>, DeviceRoofline>& devices) {
  using PointKey = std::tuple<ProcessId, DeviceId, StringId, StringId, std::string, WorkSource, bool>;
  std::map<PointKey, RooflinePoint> points;
  UnknownTotals& unknown = collected.unknown;
  for (const Work& work : collected.works) {
    if (work.kernelCount == 0) continue;
    if (work.hasUntimed) {  // its duration is not known, so neither is what it attained
      UnknownWork& without = unknown[{work.process, work.device, work.longestName, kUntimed}];
      without.count += work.kernelCount;
      without.duration += work.duration;
      without.operation = trace.text(work.operation);
      without.why = "the times of its kernels are not usable";
      continue;
    }
    const StringId name = by == RooflineBy::Kernel ? work.longestName : StringId();
    RooflinePoint& point =
        points[{work.process, work.device, name, work.operation, work.precision, work.source, work.precisionAssumed}];
    if (point.count++ == 0) {
      point.name = trace.text(name);
      point.operation = trace.text(work.operation);
      point.precision = work.precision;
      point.precisionAssumed = work.precisionAssumed;
      point.source = work.source;
    }
    point.kernelCount += work.kernelCount;
    point.blocks = std::max(point.blocks, work.blocks);
    point.duration += work.duration;
    point.flops += work.flops;
    point.bytes += work.bytes;
  }
  for (auto& [key, point] : points) {
    DeviceRoofline& device = devices[{std::get<0>(key), std::get<1>(key)}];
    device.knownDuration += point.duration;
    device.points.push_back(std::move(point));
  }
  for (auto& [key, work] : unknown) {
    DeviceRoofline& device = devices[{std::get<0>(key), std::get<1>(key)}];
    work.name = trace.text(std::get<2>(key));
    if (const int64_t index = std::get<3>(key); index >= 0) {
      const UnknownOperator& of = collected.unknownOperators[static_cast<size_t>(index)];
      work.operation = trace.text(of.name);
      work.why = of.why;
    }
    device.unknownDuration += work.duration;
    device.withoutFlops.push_back(std::move(work));
  }
}

struct Hints {
  std::string flops, roofs;
};
Result<Hints> hintsFor(Trace& trace) {
  auto rows = trace.query(
      "SELECT EXISTS (SELECT 1 FROM main.meta WHERE key = 'imported_from'), EXISTS (SELECT 1 FROM operator),"
      " EXISTS (SELECT 1 FROM operator_argument_set)");
  if (!rows.ok()) return rows.error();
  if (!rows.value().next()) return rows.value().status().error();
  const bool isImported = rows.value().integer(0) != 0, hasOperators = rows.value().integer(1) != 0,
             hasShapes = rows.value().integer(2) != 0;
  Hints hints;
  hints.roofs = isImported ? "give it" : "measure it with plumb calibrate and record again, or give it";
  if (hasShapes) {
    hints.flops =
        "they follow from the shapes and types of torch's matrix products, convolutions, attention, elementwise "
        "operators, copies, reductions, normalizations, pooling, lookups and operators on lists; others must be "
        "declared (NVTX payload flops and bytes) or measured with ncu";
  } else if (hasOperators) {
    hints.flops = "the operators have no shapes: profile with torch.profiler's record_shapes=True, or measure with ncu";
  } else if (isImported) {
    hints.flops =
        "nothing in the file tells how much work its kernels do: use plumb record or torch.profiler with "
        "record_shapes=True, which see the shapes of matrix products, or measure with ncu";
  } else {
    hints.flops =
        "only calls of cuBLAS tell their shapes, and others must be declared (NVTX payload flops and bytes) or "
        "measured "
        "with ncu";
  }
  return hints;
}

}  // namespace

Result<std::vector<DeviceRoofline>> analyzeRoofline(Trace& trace, const Filter& filter, RooflineBy by) {
  auto collected = collectWork(trace, filter);
  if (!collected.ok()) return collected.error();
  auto roofs = DeviceRoofs::load(trace);
  if (!roofs.ok()) return roofs.error();
  auto hints = hintsFor(trace);
  if (!hints.ok()) return hints.error();
  std::map<std::pair<ProcessId, DeviceId>, DeviceRoofline> devices;
  addPoints(trace, collected.value(), by, devices);
  std::vector<DeviceRoofline> result;
  for (auto& [key, roofline] : devices) {
    roofline.process = key.first;
    roofline.device = key.second;
    if (const Process* process = trace.process(key.first)) roofline.rank = process->rank;
    roofline.howToKnowFlops = hints.value().flops;
    roofline.howToKnowRoofs = hints.value().roofs;
    roofline.roofs = roofs.value().of(trace, key.first, key.second);
    const auto device = std::ranges::find(trace.devices(), key.second, &Device::id);
    const int64_t multiprocessors = device == trace.devices().end() ? 0 : device->multiprocessorCount;
    for (RooflinePoint& point : roofline.points) judge(point, roofline, multiprocessors);
    const auto longer = [](const auto& a, const auto& b) { return a.duration > b.duration; };
    std::stable_sort(roofline.points.begin(), roofline.points.end(), longer);
    std::stable_sort(roofline.withoutFlops.begin(), roofline.withoutFlops.end(), longer);
    result.push_back(std::move(roofline));
  }
  std::stable_sort(result.begin(), result.end(), [](const DeviceRoofline& a, const DeviceRoofline& b) {
    return std::make_tuple(!a.rank, a.rank.value_or(0), a.process, a.device) <
           std::make_tuple(!b.rank, b.rank.value_or(0), b.process, b.device);
  });
  return result;
}

}  // namespace plumb
