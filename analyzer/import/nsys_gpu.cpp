// SPDX-License-Identifier: Apache-2.0
// Work on the device.
#include <fmt/format.h>

#include "analyzer/import/gpu_row.h"
#include "analyzer/import/nsys_context.h"
#include "collector/schema/event_flags.h"

namespace plumb::import {
namespace {

using schema::kFromGraph;
using schema::kNoUsableTime;
using schema::kWholeGraph;

// Columns that all tables of device work share, in this order and before their own.
enum Common : int { kStart, kEnd, kDevice, kContext, kStream, kCorrelation, kProcess, kOwn };
std::vector<const char*> withCommon(std::initializer_list<const char*> own) {
  std::vector<const char*> columns = {"start",    "end",           "deviceId", "contextId",
                                      "streamId", "correlationId", "globalPid"};
  columns.insert(columns.end(), own);
  return columns;
}

// No value: it has no start.
std::optional<GpuWorkColumns> workOf(NsysContext& context, const NsysRow& row) {
  const auto times = context.times(row.integer(kStart), row.integer(kEnd));
  if (!times) return std::nullopt;
  if (!times->isUsable) context.tally.count(NsysReason::BadGpuTime);
  const int64_t process = context.registry.process(row.integer(kProcess));
  const int64_t device = context.registry.device(process, row.integerOr(kDevice, 0));
  const int64_t stream =
      context.registry.stream(process, device, row.integerOr(kContext, 0), row.integerOr(kStream, 0));
  context.registry.noteTime(process, times->start, times->start + times->duration);
  return GpuWorkColumns{process,
                        device,
                        stream,
                        times->start,
                        times->duration,
                        row.integerOr(kCorrelation, 0),
                        times->isUsable ? 0 : kNoUsableTime};
}

// Graph node ids count from 1; older exports have 0, newer ones null, for plain launches.
std::optional<int64_t> nodeOf(NsysContext& context, const NsysRow& row, int column, GpuWorkColumns& work) {
  const auto node = row.integer(column);
  if (!node || *node == 0) return std::nullopt;
  work.flags |= kFromGraph;
  if (context.source.has("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")) {
    context.graphWork.emplace(work.process, work.correlation);
  }
  return node;
}

std::optional<int64_t> notZero(std::optional<int64_t> value) { return value && *value != 0 ? value : std::nullopt; }

void importKernels(NsysContext& context) {
  context.forEachEvent("CUPTI_ACTIVITY_KIND_KERNEL",
                       withCommon({"demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX",
                                   "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
                                   "dynamicSharedMemory", "localMemoryPerThread", "graphId", "graphNodeId"}),
                       [&](const NsysRow& row) {
                         auto work = workOf(context, row);
                         if (!work) return;
                         const auto node = nodeOf(context, row, kOwn + 14, *work);
                         const KernelNameIds names = context.names.kernelNameIds(
                             row.integer(kOwn), row.integer(kOwn + 1), row.integer(kOwn + 2));
                         auto one = gpuRow<schema::KernelRow>(context.file.rows().nextId<schema::KernelRow>(), *work);
                         one.name_id = names.full;
                         one.short_name_id = names.shortName;
                         one.mangled_name_id = names.mangled;
                         one.grid_x = row.integerOr(kOwn + 3, 0);
                         one.grid_y = row.integerOr(kOwn + 4, 0);
                         one.grid_z = row.integerOr(kOwn + 5, 0);
                         one.block_x = row.integerOr(kOwn + 6, 0);
                         one.block_y = row.integerOr(kOwn + 7, 0);
                         one.block_z = row.integerOr(kOwn + 8, 0);
                         one.registers_per_thread = row.integerOr(kOwn + 9, 0);
                         one.static_shared_bytes = row.integerOr(kOwn + 10, 0);
                         one.dynamic_shared_bytes = row.integerOr(kOwn + 11, 0);
                         one.local_bytes_per_thread = row.integerOr(kOwn + 12, 0);
                         one.graph_id = notZero(row.integer(kOwn + 13));
                         one.graph_node_id = node;
                         context.file.rows().insert(one);
                       });
}

// CUpti_ActivityMemoryKind, which the trace file uses, counts from 1 with 0 for unknown; Nsight Systems from 0.
int64_t memoryKind(std::optional<int64_t> kind) { return kind && *kind >= 0 && *kind <= 6 ? *kind + 1 : 0; }

struct CopyKind {
  int64_t kind;
  bool isManaged;
};
// CUpti_ActivityMemcpyKind; migrations of managed memory have numbers of their own here.
CopyKind copyKind(int64_t kind) {
  switch (kind) {
    case 11:
      return {1, true};
    case 12:
      return {2, true};
    case 13:
      return {8, true};
    default:
      return {kind >= 0 && kind <= 10 ? kind : 0, false};
  }
}

void importCopies(NsysContext& context) {
  constexpr int64_t kManaged = 5;
  context.forEachEvent("CUPTI_ACTIVITY_KIND_MEMCPY",
                       withCommon({"bytes", "copyKind", "srcKind", "dstKind", "graphNodeId"}), [&](const NsysRow& row) {
                         auto work = workOf(context, row);
                         if (!work) return;
                         const auto node = nodeOf(context, row, kOwn + 4, *work);
                         const CopyKind kind = copyKind(row.integerOr(kOwn + 1, 0));
                         const int64_t source = memoryKind(row.integer(kOwn + 2));
                         const int64_t target = memoryKind(row.integer(kOwn + 3));
                         auto one =
                             gpuRow<schema::MemoryCopyRow>(context.file.rows().nextId<schema::MemoryCopyRow>(), *work);
                         one.bytes = context.size(row, kOwn);
                         one.copy_kind = kind.kind;
                         one.source_kind = kind.isManaged ? kManaged : source;
                         one.target_kind = kind.isManaged ? kManaged : target;
                         one.is_async = 1;  // unless its call says otherwise
                         one.graph_node_id = node;
                         context.file.rows().insert(one);
                       });
}

void importSets(NsysContext& context) {
  context.forEachEvent(
      "CUPTI_ACTIVITY_KIND_MEMSET", withCommon({"bytes", "value", "memKind", "graphNodeId"}), [&](const NsysRow& row) {
        auto work = workOf(context, row);
        if (!work) return;
        const auto node = nodeOf(context, row, kOwn + 3, *work);
        auto one = gpuRow<schema::MemorySetRow>(context.file.rows().nextId<schema::MemorySetRow>(), *work);
        one.bytes = context.size(row, kOwn);
        one.value = row.integerOr(kOwn + 1, 0);
        one.memory_kind = memoryKind(row.integer(kOwn + 2));
        one.is_async = 1;  // unless its call says otherwise
        one.graph_node_id = node;
        context.file.rows().insert(one);
      });
}

// Graphs that were traced as a whole: one interval stands for all work of a launch.
void importGraphs(NsysContext& context) {
  context.forEachEvent("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", withCommon({"graphId", "graphExecId"}),
                       [&](const NsysRow& row) {
                         auto work = workOf(context, row);
                         if (!work) return;
                         if (context.graphWork.count({work->process, work->correlation}) != 0) {
                           return context.tally.count(NsysReason::GraphCovered);
                         }
                         const int64_t graph = row.integer(kOwn) ? *row.integer(kOwn) : row.integerOr(kOwn + 1, 0);
                         const int64_t name = context.file.textId(fmt::format("CUDA graph {}", graph));
                         const auto executable = notZero(row.integer(kOwn + 1));
                         auto one = gpuRow<schema::KernelRow>(context.file.rows().nextId<schema::KernelRow>(), *work);
                         one.name_id = name;
                         one.short_name_id = name;
                         one.mangled_name_id = name;
                         one.graph_id = executable ? executable : std::optional(graph);
                         one.flags |= kFromGraph | kWholeGraph;
                         context.file.rows().insert(one);
                       });
}

// CUPTI's 32-bit "none"; also stored as a negative number.
constexpr int64_t kNone = 4294967295;
std::optional<int64_t> unlessNone(std::optional<int64_t> value) {
  return value && *value >= 0 && *value != kNone ? value : std::nullopt;
}

}  // namespace

void importGpuWork(NsysContext& context) {
  importKernels(context);
  importCopies(context);
  importSets(context);
  importGraphs(context);
}

void importSynchronization(NsysContext& context) {
  // Where an event was recorded, by the id that both sides carry.
  struct Record {
    int64_t stream, correlation;
  };
  std::unordered_map<std::pair<int64_t, int64_t>, Record, PairHash> records;  // by process, sync id
  context.forEachEvent(
      "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
      {"timestamp", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "eventId", "eventSyncId"},
      [&](const NsysRow& row) {
        const int64_t process = context.registry.process(row.integer(5));
        const int64_t stream =
            context.registry.streamOfContext(process, row.integerOr(1, 0), row.integerOr(2, 0), row.integerOr(3, 0));
        const auto sync = notZero(unlessNone(row.integer(7)));
        const int64_t correlation = row.integerOr(4, 0);
        if (sync) records.insert_or_assign({process, *sync}, Record{stream, correlation});
        constexpr int64_t kLatest = int64_t{1} << 61;
        const auto time = notZero(row.integer(0));
        context.file.rows().insert(
            schema::EventRecordRow{.id = context.file.rows().nextId<schema::EventRecordRow>(),
                                   .process_id = process,
                                   .stream_id = stream,
                                   .start_ns = time && *time > 0 && *time < kLatest ? time : std::nullopt,
                                   .event_id = row.integerOr(6, 0),
                                   .sync_id = sync,
                                   .correlation = correlation});
      });
  context.forEachEvent("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                       {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
                        "syncType|deprecatedSyncType|type", "eventId", "eventSyncId"},
                       [&](const NsysRow& row) {
                         const auto times = context.times(row.integer(0), row.integer(1));
                         if (!times) return;
                         if (!times->isUsable) return context.tally.count(NsysReason::BadDuration);
                         const int64_t process = context.registry.process(row.integer(6));
                         const auto number = unlessNone(row.integer(4));
                         // The record's own device is not that of its context in every version.
                         const auto stream = number ? std::optional(context.registry.streamOfContext(
                                                          process, row.integerOr(2, 0), row.integerOr(3, 0), *number))
                                                    : std::nullopt;
                         const int64_t id = context.file.rows().nextId<schema::SynchronizationRow>();
                         context.registry.noteTime(process, times->start, times->start + times->duration);
                         context.file.rows().insert(schema::SynchronizationRow{.id = id,
                                                                               .process_id = process,
                                                                               .stream_id = stream,
                                                                               .start_ns = times->start,
                                                                               .duration_ns = times->duration,
                                                                               .kind = row.integerOr(7, 0),
                                                                               .event_id = unlessNone(row.integer(8)),
                                                                               .correlation = row.integerOr(5, 0)});
                         const auto sync = notZero(unlessNone(row.integer(9)));
                         const auto recorded = sync ? records.find({process, *sync}) : records.end();
                         if (recorded == records.end()) return;
                         context.file.rows().insert(
                             schema::SynchronizationEventRow{.synchronization_id = id,
                                                             .recorded_stream_id = recorded->second.stream,
                                                             .recorded_correlation = recorded->second.correlation});
                       });
}

}  // namespace plumb::import
