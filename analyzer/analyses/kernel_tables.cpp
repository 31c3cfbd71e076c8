// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/kernel_tables.h"

#include <unordered_map>

#include "analyzer/analyses/launch_times.h"
#include "analyzer/analyses/stream_activity.h"

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
};

}  // namespace

std::span<const AnalysisTable> kernelTables() { return kTables; }

}  // namespace plumb
