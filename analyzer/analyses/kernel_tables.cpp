// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/kernel_tables.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "analyzer/analyses/event_totals.h"
#include "analyzer/analyses/launch_times.h"
#include "analyzer/analyses/precision.h"
#include "analyzer/analyses/roofline_work.h"
#include "analyzer/analyses/stream_activity.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

void append(CellRow& row, std::initializer_list<Cell> cells) { row.insert(row.end(), cells); }

Cell tidOf(const std::unordered_map<ThreadId, int64_t>& tids, std::optional<ThreadId> id) {
  const auto found = id ? tids.find(*id) : tids.end();
  return found == tids.end() ? Cell(nullptr) : Cell(found->second);
}

std::unordered_map<ThreadId, int64_t> tidsOf(const Trace& trace) {
  std::unordered_map<ThreadId, int64_t> tids;
  for (const Thread& thread : trace.threads()) tids.emplace(thread.id, thread.tid);
  return tids;
}

template <LaunchGrouping grouping>
AnalysisRows launchRows(Trace& trace, const Filter& filter) {
  auto launches = totalLaunches(trace, filter, grouping);
  if (!launches.ok()) return launches.error();
  const auto tids = tidsOf(trace);
  std::vector<CellRow> rows;
  for (LaunchTotals& group : launches.value().groups) {
    const auto calls = static_cast<int64_t>(group.api.count());
    const bool byThread = group.thread.has_value();
    CellRow row{rankOf(trace, group.process),
                pidOf(trace, group.process),
                byThread ? Cell(nullptr) : textCell(trace.text(group.kernel)),
                byThread ? Cell(nullptr) : textCell(trace.text(group.call)),
                tidOf(tids, group.thread),
                calls};
    for (Sample* sample : {&group.api, &group.queue, &group.delay, &group.duration, &group.total}) {
      if (sample == &group.queue) row.emplace_back(static_cast<int64_t>(sample->count()));
      appendStatistics(row, *sample);
    }
    append(row, {Cell(static_cast<double>(group.depthTotal) / static_cast<double>(calls)), Cell(group.depthMax),
                 Cell(group.deepCount), cell(group.blocked)});
    rows.push_back(std::move(row));
  }
  return rows;
}

AnalysisRows queueRows(Trace& trace, const Filter& filter) {
  auto queues = measureQueues(trace, filter);
  if (!queues.ok()) return queues.error();
  std::unordered_map<StreamId, const Stream*> streams;
  for (const Stream& stream : trace.streams()) streams.emplace(stream.id, &stream);
  std::vector<CellRow> rows;
  for (const StreamQueue& queue : queues.value()) {
    const auto found = streams.find(queue.stream);
    const Stream* stream = found == streams.end() ? nullptr : found->second;
    CellRow row{rankOf(trace, queue.process),
                pidOf(trace, queue.process),
                ordinalOf(trace, stream ? stream->device : std::nullopt),
                stream ? Cell(stream->number) : Cell(nullptr),
                stream ? textCell(stream->name) : Cell(nullptr),
                queue.launchCount,
                queue.withoutCall};
    if (queue.span > Duration()) {
      append(row, {Cell(queue.maxDepth), queue.maxDepth > 0 ? cell(queue.maxTime) : Cell(nullptr),
                   Cell(queue.meanDepth), cell(queue.span), cell(queue.queued), cell(queue.full)});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

AnalysisRows streamRows(Trace& trace, const Filter& filter) {
  auto activities = measureStreams(trace, filter);
  if (!activities.ok()) return activities.error();
  std::unordered_map<StreamId, const Stream*> streams;
  for (const Stream& stream : trace.streams()) streams.emplace(stream.id, &stream);
  std::vector<CellRow> rows;
  for (const StreamActivity& activity : activities.value()) {
    const auto found = activity.stream ? streams.find(*activity.stream) : streams.end();
    const Stream* stream = found == streams.end() ? nullptr : found->second;
    rows.push_back({textCell(activity.stream ? "stream" : "device"), rankOf(trace, activity.process),
                    pidOf(trace, activity.process), ordinalOf(trace, activity.device),
                    stream ? Cell(stream->number) : Cell(nullptr), stream ? textCell(stream->name) : Cell(nullptr),
                    activity.streamCount, activity.eventCount, cell(activity.total), cell(activity.busy),
                    cell(activity.span), cell(activity.concurrent[0]), cell(activity.concurrent[1]),
                    cell(activity.concurrent[2])});
  }
  return rows;
}

AnalysisRows kernelTypeRows(Trace& trace, const Filter& filter) {
  static constexpr const char* kNames[kKindCombinations] = {
      "idle",   "compute",          "communication",          "compute + communication",
      "memory", "compute + memory", "communication + memory", "compute + communication + memory"};
  static_assert(bitOf(GpuEventKind::Compute) == 1 && bitOf(GpuEventKind::Communication) == 2 &&
                bitOf(GpuEventKind::Memory) == 4);
  auto devices = measureKinds(trace, filter);
  if (!devices.ok()) return devices.error();
  std::vector<CellRow> rows;
  for (const KindTimes& device : devices.value()) {
    const Duration busy = device.span - device.exclusive[0];
    for (const size_t combination : {1, 2, 4, 3, 5, 6, 7, 0}) {
      rows.push_back({cell(device.rank), pidOf(trace, device.process), ordinalOf(trace, device.device),
                      textCell(kNames[combination]), cell(device.exclusive[combination]), cell(busy), cell(device.span),
                      textCell(device.communicationSource == CommunicationSource::Records ? "records" : "names")});
    }
  }
  return rows;
}

#define PLUMB_LAUNCH_STATISTICS(what)                                                               \
  what "_ns INTEGER, " what "_avg_ns REAL, " what "_median_ns REAL, " what "_min_ns INTEGER, " what \
       "_max_ns INTEGER, " what "_stddev_ns REAL, "
constexpr const char* kLaunchColumns =
    "rank INTEGER, pid INTEGER, name TEXT, api TEXT, tid INTEGER, calls INTEGER, " PLUMB_LAUNCH_STATISTICS(
        "api") "queued INTEGER, " PLUMB_LAUNCH_STATISTICS("queue") PLUMB_LAUNCH_STATISTICS("delay")
        PLUMB_LAUNCH_STATISTICS("kernel")
            PLUMB_LAUNCH_STATISTICS("total") "avg_depth REAL, max_depth INTEGER, deep INTEGER, blocked_ns INTEGER";
#undef PLUMB_LAUNCH_STATISTICS

template <KernelGrouping grouping>
AnalysisRows kernelRows(Trace& trace, const Filter& filter) {
  auto totals = groupKernels(trace, filter, grouping);
  if (!totals.ok()) return totals.error();
  std::vector<CellRow> rows;
  for (EventTotals& group : totals.value()) {
    CellRow row{rankOf(trace, group.process), pidOf(trace, group.process), textCell(trace.text(group.name)),
                group.detail.empty() ? Cell(nullptr) : Cell(group.detail),
                static_cast<int64_t>(group.durations.count())};
    appendStatistics(row, group.durations);
    rows.push_back(std::move(row));
  }
  return rows;
}

// CUPTI's kinds of copies and of memory.
const char* copyKindName(int64_t kind) {
  static constexpr const char* kNames[] = {"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                           "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  return kNames[kind > 0 && kind <= 10 ? kind : 0];
}
const char* memoryKindName(int64_t kind) {
  static constexpr const char* kNames[] = {"unknown", "pageable", "pinned", "device", "array", "managed"};
  return kNames[kind > 0 && kind <= 5 ? kind : 0];
}

struct Link {
  double perSecond = 0;
  std::string source;  // "datasheet memory"
};

// What the way of a copy can carry. The device's own memory is read and written, by a set only written.
std::optional<Link> linkOf(const std::vector<Roof>& roofs, const CopyTotals& copies) {
  constexpr int64_t kSet = -1, kHostToDevice = 1, kDeviceToHost = 2, kInsideDevice = 8, kPeerToPeer = 10, kDevice = 3;
  const auto roofOf = [&](const char* resource, double part) -> std::optional<Link> {
    const Roof* roof = bestRoof(roofs, resource);
    if (!roof) return std::nullopt;
    return Link{roof->perSecond * part, fmt::format("{} {}", nameOf(roof->source), roof->resource)};
  };
  switch (copies.copyKind) {
    case kSet:
      return copies.targetKind == kDevice ? roofOf("memory", 1) : std::nullopt;
    case kInsideDevice:
      return roofOf("memory", 0.5);
    case kHostToDevice:
    case kDeviceToHost:
      return roofOf("pcie", 1);
    case kPeerToPeer: {
      auto link = roofOf("nvlink", 1);
      return link ? link : roofOf("pcie", 1);
    }
    default:
      return std::nullopt;
  }
}

template <CopyGrouping grouping>
AnalysisRows copyRows(Trace& trace, const Filter& filter) {
  constexpr bool isWhole = grouping == CopyGrouping::Direction;
  auto totals = totalCopies(trace, filter, grouping);
  if (!totals.ok()) return totals.error();
  const auto roofs = DeviceRoofs::load(trace);
  if (!roofs.ok()) return roofs.error();
  std::vector<CellRow> rows;
  for (CopyTotals& copies : totals.value()) {
    const SampleStatistics times = copies.durations.statistics();
    const bool isSet = copies.copyKind == -1;
    CellRow row{rankOf(trace, copies.process), pidOf(trace, copies.process)};
    row.push_back(isWhole ? Cell(nullptr) : ordinalOf(trace, copies.device));
    row.push_back(isSet ? textCell("set") : textCell(std::string("copy ") + copyKindName(copies.copyKind)));
    row.push_back(copies.sourceKind ? textCell(memoryKindName(*copies.sourceKind)) : Cell(nullptr));
    row.push_back(isWhole ? Cell(nullptr) : textCell(memoryKindName(copies.targetKind)));
    row.push_back(isWhole ? Cell(nullptr) : Cell(int64_t{copies.isAsync}));
    row.push_back(copies.sizeClass ? textCell(kSizeClasses[*copies.sizeClass].name) : Cell(nullptr));
    append(row, {Cell(times.count), cell(copies.bytes)});
    appendStatistics(row, copies.durations);
    const auto bandwidth =
        times.total > 0 && copies.bytes
            ? std::optional(1e9 * static_cast<double>(*copies.bytes) / static_cast<double>(times.total))
            : std::nullopt;
    const SampleStatistics sizes = copies.sizes.statistics();
    const auto known = [&](auto size) { return sizes.count > 0 ? Cell(size) : Cell(nullptr); };
    append(row, {known(sizes.median), known(sizes.shortest), known(sizes.longest), cell(sizes.stddev)});
    std::optional<Link> link;
    if (!isWhole) link = linkOf(roofs.value().of(trace, copies.process, copies.device), copies);
    append(row, {cell(bandwidth), copies.fastest > 0 ? Cell(copies.fastest) : Cell(nullptr),
                 link ? Cell(link->perSecond) : Cell(nullptr), link ? Cell(link->source) : Cell(nullptr)});
    rows.push_back(std::move(row));
  }
  return rows;
}

AnalysisRows graphRows(Trace& trace, const Filter& filter) {
  auto graphs = totalGraphs(trace, filter);
  if (!graphs.ok()) return graphs.error();
  std::vector<CellRow> rows;
  for (GraphTotals& graph : graphs.value()) {
    const SampleStatistics spans = graph.spans.statistics(), api = graph.api.statistics();
    const bool hasApi = api.count > 0;
    rows.push_back({rankOf(trace, graph.process), pidOf(trace, graph.process), cell(graph.graph), graph.launchCount,
                    graph.wholeCount, graph.nodeCount > 0 ? Cell(graph.nodeCount) : Cell(nullptr), graph.kernelCount,
                    graph.copyCount, graph.setCount, cell(graph.total), spans.total, spans.mean, spans.median,
                    spans.shortest, spans.longest, hasApi ? Cell(api.total) : Cell(nullptr),
                    hasApi ? Cell(api.mean) : Cell(nullptr)});
  }
  return rows;
}

AnalysisRows precisionRows(Trace& trace, const Filter& filter) {
  auto processes = analyzePrecision(trace, filter);
  if (!processes.ok()) return processes.error();
  std::vector<CellRow> rows;
  for (const ProcessPrecision& process : processes.value()) {
    const Cell rank = rankOf(trace, process.process), pid = pidOf(trace, process.process);
    const auto add = [&](const char* what, std::string_view dtype, const char* source, std::optional<int64_t> count,
                         std::optional<double> flops, std::optional<Duration> gpu, std::optional<int64_t> bytes,
                         std::optional<double> value, Cell time, std::string_view note) {
      rows.push_back({rank, pid, textCell(what), dtype.empty() ? Cell(nullptr) : textCell(dtype), textCell(source),
                      cell(count), cell(flops), cell(gpu), cell(bytes), cell(value), std::move(time), textCell(note),
                      nullptr, nullptr, nullptr});
    };
    for (const MatrixProducts& products : process.products) {
      add("matrix product", products.dtype, products.source, products.count, products.flops, products.gpuTime, {}, {},
          nullptr, products.flops ? "" : "cannot say how many FLOPs, because their shapes do not tell");
      if (!products.longest) continue;
      CellRow& row = rows.back();
      row[12] = *products.longest;
      row[13] = cell(products.longestTime.start);
      row[14] = cell(products.longestTime.end);
    }
    for (const MatrixProducts& products : process.products) {
      if (products.dtype != "fp32" || products.inAutocast.value_or(1) == 0) continue;
      if (products.inAutocast) {
        add("fp32 in autocast", products.dtype, products.source, *products.inAutocast, {}, {}, {}, {}, nullptr,
            "fp32 matrix products inside a range or operator with 'autocast' in its name");
      } else {
        add("fp32 in autocast", products.dtype, products.source, std::nullopt, {}, {}, {}, {}, nullptr,
            "cannot say, because no range or operator has 'autocast' in its name");
      }
    }
    for (const Conversions& conversions : process.conversions) {
      add("conversion", conversions.types, conversions.source, conversions.count, {}, conversions.gpuTime,
          conversions.bytes, {}, nullptr, "");
    }
    if (!process.scales.empty()) {
      add("loss scale", "", "recorded", static_cast<int64_t>(process.scales.size()), {}, {}, {},
          process.scales.back().scale, cell(process.scales.back().time), "value: the last one");
    }
    if (process.skipsAreDeclared || !process.scales.empty()) {
      add("skipped steps", "", process.skipsAreDeclared ? "range" : "falls of the scale",
          static_cast<int64_t>(process.skippedSteps.size()), {}, {}, {}, {}, nullptr,
          "steps whose gradients had an inf or nan, so that nothing was updated");
    }
  }
  return rows;
}

// The loss scale and the skipped steps, one by one.
AnalysisRows lossScaleRows(Trace& trace, const Filter& filter) {
  auto processes = analyzePrecision(trace, filter);
  if (!processes.ok()) return processes.error();
  std::vector<CellRow> rows;
  for (const ProcessPrecision& process : processes.value()) {
    const Cell rank = rankOf(trace, process.process), pid = pidOf(trace, process.process);
    auto skipped = process.skippedSteps.begin();
    const auto addSkipped = [&](TimePoint before) {
      for (; skipped != process.skippedSteps.end() && *skipped < before; ++skipped) {
        rows.push_back({rank, pid, textCell("skipped step"), cell(*skipped), nullptr});
      }
    };
    for (const ScaleSample& sample : process.scales) {
      addSkipped(sample.time);
      rows.push_back({rank, pid, textCell("loss scale"), cell(sample.time), sample.scale});
    }
    addSkipped(kAllTime.end);
  }
  return rows;
}

constexpr const char* kKernelColumns =
    "rank INTEGER, pid INTEGER, name TEXT, detail TEXT, calls INTEGER, total_ns INTEGER, avg_ns REAL, median_ns REAL, "
    "min_ns INTEGER, max_ns INTEGER, stddev_ns REAL";
constexpr const char* kCopyColumns =
    "rank INTEGER, pid INTEGER, device INTEGER, name TEXT, source TEXT, target TEXT, is_async INTEGER, size TEXT, "
    "calls "
    "INTEGER, total_bytes INTEGER, total_ns INTEGER, avg_ns REAL, median_ns REAL, min_ns INTEGER, max_ns INTEGER, "
    "stddev_ns REAL, median_bytes REAL, min_bytes INTEGER, max_bytes INTEGER, stddev_bytes REAL, bandwidth_bytes_per_s "
    "REAL, best_bytes_per_s REAL, link_bytes_per_s REAL, link_source TEXT";

constexpr AnalysisTable kTables[] = {
    {"analysis_launch", kLaunchColumns, launchRows<LaunchGrouping::Kernel>},
    {"analysis_launch_by_thread", kLaunchColumns, launchRows<LaunchGrouping::Thread>},
    {"analysis_queue",
     "rank INTEGER, pid INTEGER, device INTEGER, stream INTEGER, name TEXT, launches INTEGER, without_launch INTEGER, "
     "max_depth INTEGER, max_time_ns INTEGER, avg_depth REAL, span_ns INTEGER, queued_ns INTEGER, full_ns INTEGER",
     queueRows},
    {"analysis_streams",
     "level TEXT, rank INTEGER, pid INTEGER, device INTEGER, stream INTEGER, name TEXT, streams INTEGER, events "
     "INTEGER, total_ns INTEGER, busy_ns INTEGER, span_ns INTEGER, one_ns INTEGER, two_ns INTEGER, more_ns INTEGER",
     streamRows},
    {"analysis_kernel_types",
     "rank INTEGER, pid INTEGER, device INTEGER, type TEXT, time_ns INTEGER, busy_ns INTEGER, span_ns INTEGER, "
     "communication_by TEXT",
     kernelTypeRows},
    {"analysis_kernels", kKernelColumns, kernelRows<KernelGrouping::Name>},
    {"analysis_kernels_by_full_name", kKernelColumns, kernelRows<KernelGrouping::FullName>},
    {"analysis_kernels_by_mangled_name", kKernelColumns, kernelRows<KernelGrouping::MangledName>},
    {"analysis_kernels_by_grid", kKernelColumns, kernelRows<KernelGrouping::Grid>},
    {"analysis_kernels_by_range", kKernelColumns, kernelRows<KernelGrouping::Range>},
    {"analysis_kernels_by_op", kKernelColumns, kernelRows<KernelGrouping::Operator>},
    {"analysis_copies", kCopyColumns, copyRows<CopyGrouping::Kind>},
    {"analysis_copies_by_size", kCopyColumns, copyRows<CopyGrouping::Size>},
    {"analysis_copies_by_direction", kCopyColumns, copyRows<CopyGrouping::Direction>},
    {"analysis_graphs",
     "rank INTEGER, pid INTEGER, graph INTEGER, launches INTEGER, whole_launches INTEGER, nodes INTEGER, kernels "
     "INTEGER,"
     " copies INTEGER, sets INTEGER, total_ns INTEGER, span_ns INTEGER, span_avg_ns REAL, span_median_ns REAL, "
     "span_min_ns INTEGER, span_max_ns INTEGER, api_ns INTEGER, api_avg_ns REAL",
     graphRows},
    {"analysis_precision",
     "rank INTEGER, pid INTEGER, what TEXT, dtype TEXT, source TEXT, count INTEGER, flops REAL, gpu_ns INTEGER, bytes "
     "INTEGER, value REAL, time_ns INTEGER, note TEXT, longest_kernel_id INTEGER, longest_start_ns INTEGER,"
     " longest_end_ns INTEGER",
     precisionRows},
    {"analysis_loss_scale", "rank INTEGER, pid INTEGER, what TEXT, time_ns INTEGER, value REAL", lossScaleRows},
};

}  // namespace

std::span<const AnalysisTable> kernelTables() { return kTables; }

}  // namespace plumb
