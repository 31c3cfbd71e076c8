// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/roofline_work.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/launches.h"
#include "analyzer/analyses/peaks.h"
#include "analyzer/analyses/roofline_operators.h"
#include "analyzer/analyses/work_filter.h"

namespace plumb {
namespace {

// No FLOPs is a declaration too: a cast moves bytes and computes nothing.
bool isUsableWork(const Work& work) {
  return std::isfinite(work.flops) && std::isfinite(work.bytes) && work.flops >= 0 && work.bytes >= 0;
}

// Library calls, and which launches (process, correlation) each caused.
Status loadShapes(Trace& trace, std::vector<Work>& works, LaunchOwners& owners) {
  auto calls = trace.query(
      "SELECT process_id, external_id, name_id, compute_type_id, flops, bytes, start_ns FROM main.library_call");
  if (!calls.ok()) return calls.error();
  LaunchOwners byExternal;
  while (calls.value().next()) {
    Statement& row = calls.value();
    Work work;
    work.process = row.id<ProcessId>(0);
    work.operation = row.id<StringId>(2);
    work.precision = trace.text(row.id<StringId>(3));
    work.flops = row.real(4);
    work.bytes = row.real(5);
    work.start = row.time(6);
    if (!isUsableWork(work)) continue;
    byExternal[{row.integer(0), row.integer(1)}] = static_cast<int64_t>(works.size());
    works.push_back(std::move(work));
  }
  if (Status status = calls.value().status(); !status.ok() || byExternal.empty()) return status;

  auto links = trace.query("SELECT process_id, external_id, correlation FROM main.correlation_link");
  if (!links.ok()) return links.error();
  while (links.value().next()) {
    const auto call = byExternal.find({links.value().integer(0), links.value().integer(1)});
    if (call != byExternal.end()) owners[{links.value().integer(0), links.value().integer(2)}] = call->second;
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
    found.work.start = found.time.start;
    found.work.operation = row.id<StringId>(5);
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
  TimePoint launched, start;
  DeviceId device;
  StreamId stream;
  int64_t id;
  ProcessId process;
  StringId name, fullName;
  Duration duration;
  int64_t blocks;
  bool isTimed;
  int64_t unknownOperator = kNoOperator;
};

// 0 where it is not known; a file of anybody's may say anything.
int64_t blocksOf(int64_t x, int64_t y, int64_t z) {
  constexpr int64_t kMost = INT32_MAX;
  if (x <= 0 || y <= 0 || z <= 0) return 0;
  if (x >= kMost || y >= kMost || z >= kMost || x * y >= kMost) return kMost;
  return std::min(x * y * z, kMost);
}

// Where kernels go.
class Distribution {
 public:
  Distribution(CollectedWork& collected, CollectKernels keep, UntypedWorks& untyped)
      : m_collected(collected), m_keep(keep), m_untyped(untyped) {}

  void toWork(size_t work, const LaunchedKernel& kernel) {
    m_untyped.see(m_collected.works, work, kernel.fullName);
    m_collected.works[work].add(kernel.device, kernel.duration, kernel.name, kernel.isTimed, kernel.blocks);
    note(work, kernel);
  }
  void toUnknown(const LaunchedKernel& kernel) {
    UnknownWork& work = m_collected.unknown[{kernel.process, kernel.device, kernel.name, kernel.unknownOperator}];
    ++work.count;
    work.duration += kernel.duration;
    note(CollectedWork::kNoWork, kernel);
  }
  void toCommunication(const LaunchedKernel& kernel) { note(CollectedWork::kNoWork, kernel); }

  // Once all kernels are given: works whose bytes no kernel told are unknown.
  void finish() {
    for (const auto& [index, unknownOperator] : m_untyped.rest()) {
      Work& work = m_collected.works[index];
      if (work.kernelCount == 0) continue;
      UnknownWork& unknown = m_collected.unknown[{work.process, work.device, work.longestName, unknownOperator}];
      unknown.count += work.kernelCount;
      unknown.duration += work.duration;
      work.kernelCount = 0;
    }
  }

 private:
  void note(size_t work, const LaunchedKernel& kernel) {
    if (m_keep == CollectKernels::No || !kernel.isTimed) return;
    m_collected.kernels.push_back({work, kernel.device, kernel.stream, kernel.start, kernel.duration, kernel.id});
  }

  CollectedWork& m_collected;
  CollectKernels m_keep;
  UntypedWorks& m_untyped;
};

// One pass over a thread's launches and ranges in order of time, with the ranges that are open on a stack.
void giveToRanges(std::vector<LaunchedKernel>& kernels, const std::vector<DeclaredRange>& ranges,
                  Distribution& distribution) {
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
      distribution.toUnknown(kernel);
    } else {
      distribution.toWork(open.back()->work, kernel);
    }
  }
}

// Gives every kernel that is not communication to its library call or operator, else to its declaring range, else to
// `unknown`.
Status distributeKernels(Trace& trace, const LaunchOwners& owners, const RangesByThread& ranges,
                         const WorkFilter& filter, Distribution& distribution) {
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto launches = ranges.empty() ? Result<LaunchIndex>(LaunchIndex()) : LaunchIndex::load(trace);
  if (!launches.ok()) return launches.error();
  auto rows = trace.query(
      "SELECT process_id, device_id, correlation, start_ns, duration_ns, flags, name_id, short_name_id,"
      " grid_x, grid_y, grid_z, stream_id, id FROM main.kernel");
  if (!rows.ok()) return rows.error();
  std::unordered_map<ThreadId, std::vector<LaunchedKernel>> byThread;
  Statement& row = rows.value();
  while (row.next()) {
    LaunchedKernel kernel;
    kernel.process = row.id<ProcessId>(0);
    const auto correlation = row.id<Correlation>(2);
    if (!filter.keeps(kernel.process, correlation, row.time(3))) continue;
    kernel.device = row.id<DeviceId>(1);
    kernel.start = row.time(3);
    kernel.stream = row.id<StreamId>(11);
    kernel.id = row.integer(12);
    kernel.isTimed = !(row.integer(5) & 1) && isUsableTime(row.integer(3), row.integer(4));
    kernel.duration = kernel.isTimed ? Duration(row.integer(4)) : Duration();
    kernel.fullName = row.id<StringId>(6);
    kernel.name = row.id<StringId>(7);
    kernel.blocks = blocksOf(row.integer(8), row.integer(9), row.integer(10));
    const auto owner = owners.find({kernel.process.value(), correlation.value()});
    if (owner != owners.end() && owner->second >= 0) {
      distribution.toWork(static_cast<size_t>(owner->second), kernel);
      continue;
    }
    if (classifier.value().isCommunication(kernel.process, correlation, kernel.fullName)) {
      distribution.toCommunication(kernel);
      continue;
    }
    if (owner != owners.end()) kernel.unknownOperator = ~owner->second;
    const Launch* launch = launches.value().find(kernel.process, correlation);
    if (launch && ranges.count(launch->thread)) {
      kernel.launched = launch->start;
      byThread[launch->thread].push_back(kernel);
    } else {
      distribution.toUnknown(kernel);
    }
  }
  if (Status status = row.status(); !status.ok()) return status;
  for (auto& [thread, kernels] : byThread) giveToRanges(kernels, ranges.at(thread), distribution);
  return Unit{};
}

}  // namespace

Result<CollectedWork> collectWork(Trace& trace, const Filter& filter, CollectKernels kernels) {
  auto events = WorkFilter::load(trace, filter);
  if (!events.ok()) return events.error();
  CollectedWork collected;
  LaunchOwners owners;
  UntypedWorks untyped(trace);
  RangesByThread ranges;
  if (const Status status = loadShapes(trace, collected.works, owners); !status.ok()) return status.error();
  const Status operators = loadOperators(trace, collected, untyped, owners);
  if (!operators.ok()) return operators.error();
  if (const Status status = loadDeclared(trace, collected.works, ranges); !status.ok()) return status.error();
  Distribution distribution(collected, kernels, untyped);
  const Status given = distributeKernels(trace, owners, ranges, events.value(), distribution);
  if (!given.ok()) return given.error();
  distribution.finish();
  return collected;
}

namespace {

// A device that the recording does not describe (torch.profiler numbers the devices that it describes as the program
// sees them, and those of the events as the machine does) is taken for one of its process, when these are all alike.
std::string nameOfTheOthers(const Trace& trace, const Device& device) {
  std::string name;
  for (const Device& other : trace.devices()) {
    if (other.process != device.process || other.name.empty()) continue;
    if (!name.empty() && name != other.name) return {};
    name = other.name;
  }
  return name;
}

}  // namespace

Result<DeviceRoofs> DeviceRoofs::load(Trace& trace) {
  DeviceRoofs roofs;
  for (const auto& [resource, perSecond] : givenPeaks(trace.database())) {
    roofs.m_given.push_back({resource, perSecond, RoofSource::Given, false});
  }
  auto rows = trace.query("SELECT process_id, ordinal, resource, per_second, source FROM main.device_roof");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    Statement& row = rows.value();
    if (!(row.real(3) > 0)) continue;
    Roof roof{std::string(row.text(2)), row.real(3),
              row.text(4) == "measured" ? RoofSource::Measured : RoofSource::Datasheet, false};
    auto& list = roofs.m_recorded[{row.id<ProcessId>(0), row.integer(1)}];
    const bool isKnown = std::ranges::any_of(
        list, [&](const Roof& r) { return r.resource == roof.resource && r.source == roof.source; });
    if (!isKnown) list.push_back(std::move(roof));
  }
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  return roofs;
}

std::vector<Roof> DeviceRoofs::of(const Trace& trace, ProcessId process, DeviceId id) const {
  std::vector<Roof> result;
  const Device* device = trace.device(id);
  if (!device) return result;
  if (const auto recorded = m_recorded.find({process, device->ordinal}); recorded != m_recorded.end()) {
    result = recorded->second;
  }
  result.insert(result.end(), m_given.begin(), m_given.end());
  Device described = *device;
  if (described.name.empty()) described.name = nameOfTheOthers(trace, *device);
  for (Roof& roof : datasheetRoofs(described)) {
    const bool isKnown = std::ranges::any_of(
        result, [&](const Roof& r) { return r.resource == roof.resource && r.source == roof.source; });
    if (!isKnown) result.push_back(std::move(roof));
  }
  return result;
}

std::optional<Roof> DeviceRoofs::network(const std::vector<Roof>& roofs, int64_t rankCount, int64_t hostCount) {
  constexpr int64_t kGpusOfHost = 8;
  if (const Roof* network = bestRoof(roofs, "network")) return *network;
  const Roof* link = bestRoof(roofs, "nvlink");
  const bool isOneHost = hostCount == 1 || (hostCount == 0 && rankCount <= kGpusOfHost);
  return link && isOneHost ? std::optional(*link) : std::nullopt;
}

}  // namespace plumb
