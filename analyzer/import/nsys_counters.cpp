// SPDX-License-Identifier: Apache-2.0
// Numbers over time, and what Nsight Systems itself had to say.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "analyzer/import/json.h"
#include "analyzer/import/nsys_context.h"

namespace plumb::import {
namespace {

// The lowest byte of a metric's type is the number of its GPU.
constexpr int64_t gpuOfType(int64_t type) { return type & 0xFF; }

void sample(NsysContext& context, int64_t process, int64_t start, int64_t name, double value) {
  context.file.rows().insert(
      schema::CounterSampleRow{.process_id = process, .start_ns = start, .name_id = name, .value = value});
}

void importMetrics(NsysContext& context, const char* table, const char* names, const char* where) {
  std::map<std::pair<int64_t, int64_t>, int64_t> nameOfMetric;  // by type, metric
  context.source.forEach(names, {"typeId", "metricId", "metricName"}, [&](const NsysRow& row) {
    const std::string name = fmt::format("{}, {} {}", row.text(2), where, gpuOfType(row.integerOr(0, 0)));
    nameOfMetric.emplace(std::pair{row.integerOr(0, 0), row.integerOr(1, 0)}, context.file.textId(name));
  });
  std::map<int64_t, int64_t> processOfType;
  context.forEachEvent(table, {"timestamp", "typeId", "metricId", "value"}, [&](const NsysRow& row) {
    const auto times = context.times(row.integer(0), row.integer(0));
    if (!times) return;
    const int64_t type = row.integerOr(1, 0);
    const auto known = processOfType.try_emplace(type, 0);
    if (known.second) known.first->second = context.registry.processOfGpu(gpuOfType(type));
    const int64_t process = known.first->second;
    const auto name = nameOfMetric.find({type, row.integerOr(2, 0)});
    const bool isNumber = row.type(3) == ValueType::Integer || row.type(3) == ValueType::Real;
    if (process == 0 || name == nameOfMetric.end() || !isNumber) {
      return context.tally.count(NsysReason::NotUnderstood);
    }
    sample(context, process, times->start, name->second, row.real(3));
  });
}

// Before schema 2.8 or so, GPU metrics are generic events whose values are a JSON object.
void importGenericEvents(NsysContext& context) {
  if (!context.source.has("GENERIC_EVENTS", "data")) return;
  std::map<int64_t, int64_t> processOfType;
  context.forEachEvent("GENERIC_EVENTS", {"timestamp", "typeId", "data"}, [&](const NsysRow& row) {
    const auto times = context.times(row.integer(0), row.integer(0));
    if (!times) return;
    const int64_t type = row.integerOr(1, 0);
    const auto known = processOfType.try_emplace(type, 0);
    if (known.second) known.first->second = context.registry.processOfGpu(gpuOfType(type));
    const int64_t process = known.first->second;
    bool any = false;
    (void)readObject(row.text(2), [&](std::string_view key, const JsonValue& value) {
      const auto number = value.toReal();
      if (!number || process == 0) return;
      const std::string name = fmt::format("{}, GPU {}", key, gpuOfType(type));
      sample(context, process, times->start, context.file.textId(name), *number);
      any = true;
    });
    if (!any) context.tally.count(NsysReason::NotUnderstood);
  });
}

}  // namespace

void importCounters(NsysContext& context) {
  importMetrics(context, "GPU_METRICS", "TARGET_INFO_GPU_METRICS", "GPU");
  importMetrics(context, "SOC_METRICS", "TARGET_INFO_SOC_METRICS", "SoC");
  if (!context.source.has("GPU_METRICS")) importGenericEvents(context);
}

void importMessages(NsysContext& context) {
  struct Message {
    int64_t start = 0, count = 0;
  };
  // ENUM_DIAGNOSTIC_SEVERITY_LEVEL
  static constexpr std::array<const char*, 5> kSeverities = {"info", "info", "warning", "error", "info"};
  std::map<std::tuple<std::optional<int64_t>, size_t, std::string>, Message> messages;
  context.source.forEach(
      "DIAGNOSTIC_EVENT", {"timestamp", "severity", "text|textId", "globalPid"}, [&](const NsysRow& row) {
        const int64_t severity = row.integerOr(1, 0);
        std::string text(row.text(2));
        if (row.type(2) == ValueType::Integer) text = context.names.text(row.integerOr(2, 0));
        const size_t level = severity >= 0 && severity < 5 ? static_cast<size_t>(severity) : 0;
        Message& message = messages[{context.registry.knownProcess(row.integer(3)), level, std::move(text)}];
        constexpr int64_t kLatest = int64_t{1} << 61;
        const int64_t start = row.integerOr(0, 0);
        if (message.count++ == 0) message.start = start > -kLatest && start < kLatest ? start : 0;
      });
  for (const auto& [key, message] : messages) {
    const auto& [process, level, text] = key;
    context.file.rows().insert(schema::DiagnosticRow{.id = context.file.rows().nextId<schema::DiagnosticRow>(),
                                                     .process_id = process,
                                                     .start_ns = message.start,
                                                     .severity = kSeverities[level],
                                                     .lane = "nsight",
                                                     .code = "nsight_message",
                                                     .count = message.count,
                                                     .message = "Nsight Systems: " + text});
  }
}

}  // namespace plumb::import
