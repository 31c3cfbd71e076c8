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
#include "analyzer/analyses/operator_work.h"
#include "analyzer/analyses/peaks.h"
#include "analyzer/analyses/work_filter.h"

namespace plumb {
namespace {

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
  auto calls = trace.query(
      "SELECT process_id, external_id, name_id, compute_type_id, flops, bytes, start_ns FROM main.library_call");
  if (!calls.ok()) return calls.error();
  WorkByKey byExternal;
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

// Operators of a framework whose work follows from the shapes of their arguments, for what no library call claims.
Status loadOperators(Trace& trace, std::vector<Work>& works, WorkByKey& byCorrelation) {
  auto rows = trace.query(
      "SELECT o.id, o.process_id, o.start_ns, o.name_id, o.argument_set_id, a.dims_id, a.types_id, a.values_id,"
      " a.strides_id"
      " FROM operator o JOIN operator_argument_set a ON a.id = o.argument_set_id");
  if (!rows.ok()) return rows.error();
  std::unordered_map<StringId, bool> isKnownName;
  std::map<std::pair<StringId, int64_t>, std::optional<OperatorWork>> known;  // by name and argument set
  std::unordered_map<int64_t, size_t> byOperator;
  Statement& row = rows.value();
  while (row.next()) {
    const StringId name = row.id<StringId>(3);
    auto hasFormula = isKnownName.find(name);
    if (hasFormula == isKnownName.end()) {
      hasFormula = isKnownName.emplace(name, hasWorkFormula(trace.text(name))).first;
    }
    if (!hasFormula->second) continue;
    const auto [found, isNew] = known.try_emplace({name, row.integer(4)});
    if (isNew) {
      found->second = workOfOperator(trace.text(name), trace.text(row.id<StringId>(5)), trace.text(row.id<StringId>(6)),
                                     trace.text(row.id<StringId>(7)), trace.text(row.id<StringId>(8)));
    }
    if (!found->second) continue;
    Work work;
    work.source = WorkSource::Shape;
    work.process = row.id<ProcessId>(1);
    work.start = row.time(2);
    work.operation = name;
    work.precision = found->second->precision;
    work.precisionAssumed = found->second->precisionAssumed;
    work.flops = found->second->flops;
    work.bytes = found->second->bytes;
    work.written = found->second->written;
    byOperator[row.integer(0)] = works.size();
    works.push_back(std::move(work));
  }
  if (Status status = row.status(); !status.ok() || byOperator.empty()) return status;
  auto launches = trace.query("SELECT process_id, correlation, operator_id FROM operator_launch");
  if (!launches.ok()) return launches.error();
  while (launches.value().next()) {
    const auto work = byOperator.find(launches.value().integer(2));
    if (work != byOperator.end()) {
      byCorrelation.try_emplace({launches.value().integer(0), launches.value().integer(1)}, work->second);
    }
  }
  return launches.value().status();
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
  StringId name;
  Duration duration;
  int64_t blocks;
  bool isTimed;
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
  Distribution(CollectedWork& collected, CollectKernels keep) : m_collected(collected), m_keep(keep) {}

  void toWork(size_t work, const LaunchedKernel& kernel) {
    m_collected.works[work].add(kernel.device, kernel.duration, kernel.name, kernel.isTimed, kernel.blocks);
    note(work, kernel);
  }
  void toUnknown(const LaunchedKernel& kernel) {
    UnknownWork& work = m_collected.unknown[{kernel.process, kernel.device, kernel.name}];
    ++work.count;
    work.duration += kernel.duration;
    note(CollectedWork::kNoWork, kernel);
  }
  void toCommunication(const LaunchedKernel& kernel) { note(CollectedWork::kNoWork, kernel); }

 private:
  void note(size_t work, const LaunchedKernel& kernel) {
    if (m_keep == CollectKernels::No || !kernel.isTimed) return;
    m_collected.kernels.push_back({work, kernel.device, kernel.stream, kernel.start, kernel.duration, kernel.id});
  }

  CollectedWork& m_collected;
  CollectKernels m_keep;
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
Status distributeKernels(Trace& trace, const WorkByKey& byCorrelation, const RangesByThread& ranges,
                         const WorkFilter& filter, Distribution distribution) {
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
    kernel.name = row.id<StringId>(7);
    kernel.blocks = blocksOf(row.integer(8), row.integer(9), row.integer(10));
    const auto call = byCorrelation.find({kernel.process.value(), correlation.value()});
    if (call != byCorrelation.end()) {
      distribution.toWork(call->second, kernel);
      continue;
    }
    if (classifier.value().isCommunication(kernel.process, correlation, row.id<StringId>(6))) {
      distribution.toCommunication(kernel);
      continue;
    }
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
  WorkByKey byCorrelation;
  RangesByThread ranges;
  if (const Status status = loadShapes(trace, collected.works, byCorrelation); !status.ok()) return status.error();
  if (const Status status = loadOperators(trace, collected.works, byCorrelation); !status.ok()) return status.error();
  if (const Status status = loadDeclared(trace, collected.works, ranges); !status.ok()) return status.error();
  const Status given =
      distributeKernels(trace, byCorrelation, ranges, events.value(), Distribution(collected, kernels));
  if (!given.ok()) return given.error();
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
