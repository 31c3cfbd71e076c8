// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/launches.h"

namespace plumb {
namespace {

// A library call or a declaring range: what is known about the work of the kernels launched in it.
struct Work {
  WorkSource source = WorkSource::Shape;
  ProcessId process;
  std::string operation;
  std::string precision;
  bool precisionAssumed = false;
  double flops = 0, bytes = 0;
  // Of its kernels:
  DeviceId device;
  int64_t kernelCount = 0;
  Duration duration, longest;
  StringId longestName;
  bool hasUntimed = false;

  void add(DeviceId kernelDevice, Duration time, StringId name, bool isTimed) {
    if (kernelCount++ == 0 || time > longest) {
      longest = time;
      longestName = name;
      device = kernelDevice;
    }
    duration += time;
    hasUntimed |= !isTimed;
  }
};

// No FLOPs is a declaration too: a cast moves bytes and computes nothing.
bool isUsableWork(const Work& work) {
  return std::isfinite(work.flops) && std::isfinite(work.bytes) && work.flops >= 0 && work.bytes >= 0;
}

using Key = std::pair<int64_t, int64_t>;  // (process, external id or correlation)
struct KeyHash {
  size_t operator()(const Key& key) const {
    return std::hash<int64_t>{}(static_cast<int64_t>(static_cast<uint64_t>(key.first) * 0x9e3779b97f4a7c15u) ^
                                key.second);
  }
};
using WorkByKey = std::unordered_map<Key, size_t, KeyHash>;

// Library calls, and which launches (process, correlation) each caused.
Status loadShapes(Trace& trace, std::vector<Work>& works, WorkByKey& byCorrelation) {
  auto calls =
      trace.query("SELECT process_id, external_id, name_id, compute_type_id, flops, bytes FROM main.library_call");
  if (!calls.ok()) return calls.error();
  WorkByKey byExternal;
  while (calls.value().next()) {
    Statement& row = calls.value();
    Work work;
    work.process = row.id<ProcessId>(0);
    work.operation = trace.text(row.id<StringId>(2));
    work.precision = trace.text(row.id<StringId>(3));
    work.flops = row.real(4);
    work.bytes = row.real(5);
    if (!isUsableWork(work)) continue;
    byExternal[{row.integer(0), row.integer(1)}] = works.size();
    works.push_back(std::move(work));
  }
  if (Status status = calls.value().status(); !status.ok() || byExternal.empty()) return status;

  auto links = trace.query("SELECT process_id, external_id, correlation FROM main.correlation_link");
  if (!links.ok()) return links.error();
  while (links.value().next()) {
    const auto call = byExternal.find({links.value().integer(0), links.value().integer(1)});
    if (call != byExternal.end()) byCorrelation[{links.value().integer(0), links.value().integer(2)}] = call->second;
  }
  return links.value().status();
}

struct DeclaredRange {
  Interval time;
  size_t work;
};
using RangesByThread =
    std::unordered_map<ThreadId, std::vector<DeclaredRange>>;  // in order of start, outer before inner

// Ranges whose payload has `flops` (and mostly `bytes`).
Status loadDeclared(Trace& trace, std::vector<Work>& works, RangesByThread& byThread) {
  auto rows = trace.query(
      "SELECT r.id, r.process_id, r.thread_id, r.start_ns, r.duration_ns, r.name_id, n.text, p.value"
      " FROM main.range_payload p JOIN main.string n ON n.id = p.name_id JOIN main.range r ON r.id = p.range_id"
      " WHERE n.text IN ('flops', 'bytes', 'dtype') AND r.kind = 'push_pop' AND r.duration_ns IS NOT NULL");
  if (!rows.ok()) return rows.error();
  struct Found {
    Work work;
    ThreadId thread;
    Interval time;
    bool hasFlops = false;
  };
  std::map<int64_t, Found> ranges;
  while (rows.value().next()) {
    Statement& row = rows.value();
    if (!isUsableTime(row.integer(3), row.integer(4))) continue;
    Found& found = ranges[row.integer(0)];
    found.thread = row.id<ThreadId>(2);
    found.time = intervalOf(row.integer(3), row.integer(4));
    found.work.process = row.id<ProcessId>(1);
    found.work.operation = trace.text(row.id<StringId>(5));
    if (row.text(6) == "flops") {
      found.hasFlops = true;
      found.work.flops = row.real(7);
    } else if (row.text(6) == "bytes") {
      found.work.bytes = row.real(7);
    } else {
      found.work.precision = row.text(7);
    }
  }
  if (Status status = rows.value().status(); !status.ok()) return status;
  for (auto& [id, found] : ranges) {
    if (!found.hasFlops || !isUsableWork(found.work)) continue;
    found.work.source = WorkSource::Declared;
    found.work.precisionAssumed = found.work.precision.empty();
    if (found.work.precisionAssumed) found.work.precision = "fp32";
    byThread[found.thread].push_back({found.time, works.size()});
    works.push_back(std::move(found.work));
  }
  for (auto& [thread, list] : byThread) {
    std::sort(list.begin(), list.end(), [](const DeclaredRange& a, const DeclaredRange& b) {
      return a.time.start != b.time.start ? a.time.start < b.time.start : a.time.end > b.time.end;
    });
  }
  return Unit{};
}

struct LaunchedKernel {
  TimePoint launched;
  DeviceId device;
  ProcessId process;
  StringId name;
  Duration duration;
  bool isTimed;
};

using UnknownTotals = std::map<std::tuple<ProcessId, DeviceId, StringId>, UnknownWork>;

void addUnknown(UnknownTotals& unknown, const LaunchedKernel& kernel) {
  UnknownWork& work = unknown[{kernel.process, kernel.device, kernel.name}];
  ++work.count;
  work.duration += kernel.duration;
}

// One pass over a thread's launches and ranges in order of time, with the ranges that are open on a stack.
void giveToRanges(std::vector<LaunchedKernel>& kernels, const std::vector<DeclaredRange>& ranges,
                  std::vector<Work>& works, UnknownTotals& unknown) {
  std::sort(kernels.begin(), kernels.end(),
            [](const LaunchedKernel& a, const LaunchedKernel& b) { return a.launched < b.launched; });
  std::vector<const DeclaredRange*> open;
  auto next = ranges.begin();
  for (const LaunchedKernel& kernel : kernels) {
    for (; next != ranges.end() && next->time.start <= kernel.launched; ++next) {
      while (!open.empty() && open.back()->time.end <= next->time.start) open.pop_back();
      open.push_back(&*next);
    }
    while (!open.empty() && open.back()->time.end <= kernel.launched) open.pop_back();
    if (open.empty()) {
      addUnknown(unknown, kernel);
    } else {
      works[open.back()->work].add(kernel.device, kernel.duration, kernel.name, kernel.isTimed);
    }
  }
}

// Gives every kernel that is not communication to its library call, else to its declaring range, else to `unknown`.
Status distributeKernels(Trace& trace, std::vector<Work>& works, const WorkByKey& byCorrelation,
                         const RangesByThread& ranges, UnknownTotals& unknown) {
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto launches = ranges.empty() ? Result<LaunchIndex>(LaunchIndex()) : LaunchIndex::load(trace);
  if (!launches.ok()) return launches.error();
  auto rows = trace.query(
      "SELECT process_id, device_id, correlation, start_ns, duration_ns, flags, name_id, short_name_id FROM "
      "main.kernel");
  if (!rows.ok()) return rows.error();
  std::unordered_map<ThreadId, std::vector<LaunchedKernel>> byThread;
  Statement& row = rows.value();
  while (row.next()) {
    LaunchedKernel kernel;
    kernel.process = row.id<ProcessId>(0);
    kernel.device = row.id<DeviceId>(1);
    const auto correlation = row.id<Correlation>(2);
    kernel.isTimed = !(row.integer(5) & 1) && isUsableTime(row.integer(3), row.integer(4));
    kernel.duration = kernel.isTimed ? Duration(row.integer(4)) : Duration();
    kernel.name = row.id<StringId>(7);
    const auto call = byCorrelation.find({kernel.process.value(), correlation.value()});
    if (call != byCorrelation.end()) {
      works[call->second].add(kernel.device, kernel.duration, kernel.name, kernel.isTimed);
      continue;
    }
    if (classifier.value().isCommunication(kernel.process, correlation, row.id<StringId>(6))) continue;
    const Launch* launch = launches.value().find(kernel.process, correlation);
    if (launch && ranges.count(launch->thread)) {
      kernel.launched = launch->start;
      byThread[launch->thread].push_back(kernel);
    } else {
      addUnknown(unknown, kernel);
    }
  }
  if (Status status = row.status(); !status.ok()) return status;
  for (auto& [thread, kernels] : byThread) giveToRanges(kernels, ranges.at(thread), works, unknown);
  return Unit{};
}

Status loadMeasuredRoofs(Trace& trace, std::map<std::pair<ProcessId, int64_t>, std::vector<Roof>>& roofs) {
  auto rows = trace.query("SELECT process_id, ordinal, resource, per_second, source FROM main.device_roof");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    Statement& row = rows.value();
    if (!(row.real(3) > 0)) continue;
    Roof roof{std::string(row.text(2)), row.real(3),
              row.text(4) == "measured" ? RoofSource::Measured : RoofSource::Datasheet, false};
    auto& list = roofs[{row.id<ProcessId>(0), row.integer(1)}];
    const auto same = std::find_if(list.begin(), list.end(), [&](const Roof& r) {
      return r.resource == roof.resource && r.source == roof.source;
    });
    if (same == list.end()) list.push_back(std::move(roof));
  }
  return rows.value().status();
}

void judge(RooflinePoint& point, const DeviceRoofline& device) {
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
  } else if (!compute) {
    point.reason = fmt::format("the device has no {} roof (measure it with: plumb calibrate)", point.precision);
  } else if (!memory) {
    point.reason = "the device has no memory roof (measure it with: plumb calibrate)";
  } else {
    point.reason = "its bytes are not known";
  }
}

// Works with the same kernel, operation, precision and source become one point of their device.
void addPoints(Trace& trace, const std::vector<Work>& works, UnknownTotals& unknown,
               std::map<std::pair<ProcessId, DeviceId>, DeviceRoofline>& devices) {
  using PointKey = std::tuple<ProcessId, DeviceId, StringId, std::string, std::string, WorkSource, bool>;
  std::map<PointKey, RooflinePoint> points;
  for (const Work& work : works) {
    if (work.kernelCount == 0) continue;
    if (work.hasUntimed) {  // its duration is not known, so neither is what it attained
      UnknownWork& without = unknown[{work.process, work.device, work.longestName}];
      without.count += work.kernelCount;
      without.duration += work.duration;
      continue;
    }
    RooflinePoint& point = points[{work.process, work.device, work.longestName, work.operation, work.precision,
                                   work.source, work.precisionAssumed}];
    if (point.count++ == 0) {
      point.name = trace.text(work.longestName);
      point.operation = work.operation;
      point.precision = work.precision;
      point.precisionAssumed = work.precisionAssumed;
      point.source = work.source;
    }
    point.kernelCount += work.kernelCount;
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
    device.unknownDuration += work.duration;
    device.withoutFlops.push_back(std::move(work));
  }
}

}  // namespace

Result<std::vector<DeviceRoofline>> analyzeRoofline(Trace& trace) {
  std::vector<Work> works;
  WorkByKey byCorrelation;
  RangesByThread ranges;
  UnknownTotals unknown;
  std::map<std::pair<ProcessId, int64_t>, std::vector<Roof>> measured;
  if (const Status status = loadShapes(trace, works, byCorrelation); !status.ok()) return status.error();
  if (const Status status = loadDeclared(trace, works, ranges); !status.ok()) return status.error();
  if (const Status status = distributeKernels(trace, works, byCorrelation, ranges, unknown); !status.ok())
    return status.error();
  if (const Status status = loadMeasuredRoofs(trace, measured); !status.ok()) return status.error();

  std::map<std::pair<ProcessId, DeviceId>, DeviceRoofline> devices;
  addPoints(trace, works, unknown, devices);
  std::vector<DeviceRoofline> result;
  for (auto& [key, roofline] : devices) {
    roofline.process = key.first;
    roofline.device = key.second;
    if (const Process* process = trace.process(key.first)) roofline.rank = process->rank;
    if (const Device* device = trace.device(key.second)) {
      roofline.roofs = measured[{key.first, device->ordinal}];
      for (Roof& roof : datasheetRoofs(*device)) {
        const bool known = std::any_of(roofline.roofs.begin(), roofline.roofs.end(), [&](const Roof& r) {
          return r.resource == roof.resource && r.source == roof.source;
        });
        if (!known) roofline.roofs.push_back(std::move(roof));
      }
    }
    for (RooflinePoint& point : roofline.points) judge(point, roofline);
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
