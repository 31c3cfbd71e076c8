// SPDX-License-Identifier: Apache-2.0
// What the host did, apart from NVTX.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzer/import/nsys_context.h"

namespace plumb::import {
namespace {

// ENUM_NSYS_EVENT_CLASS
constexpr int64_t kRuntimeClass = 0, kDriverClass = 1, kCudaStart = 10, kCudaFinish = 11, kCudaError = 12,
                  kOsStart = 31, kOsFinish = 32;

// Call stacks of one table, stored once each, by the number that calls name them with.
class CallStacks {
 public:
  CallStacks(NsysContext& context, std::string_view table) : m_context(context) {
    context.source.forEach(
        table, {"id", "stackDepth", "symbol", "module"}, [&](const NsysRow& row) { take(row); }, "id");
    finish();
  }

  [[nodiscard]] std::optional<int64_t> of(std::optional<int64_t> chain) const {
    const auto found = chain ? m_stacks.find(*chain) : m_stacks.end();
    return found == m_stacks.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  struct Frame {
    int64_t depth, function, file;
  };

  void take(const NsysRow& row) {
    const int64_t chain = row.integerOr(0, 0);
    if (m_frames.empty() || chain != m_chain) finish();
    m_chain = chain;
    m_frames.push_back({row.integerOr(1, static_cast<int64_t>(m_frames.size())), m_context.names.textId(row.integer(2)),
                        m_context.names.textId(row.integer(3))});
  }

  void finish() {
    if (m_frames.empty()) return;
    // A table that is not in order names a chain again; its first part is what counts.
    if (const auto [entry, isNew] = m_stacks.try_emplace(m_chain, 0); isNew) entry->second = write();
    m_frames.clear();
  }

  [[nodiscard]] int64_t write() {
    std::sort(m_frames.begin(), m_frames.end(), [](const Frame& a, const Frame& b) { return a.depth < b.depth; });
    const int64_t id = m_context.file.rows().nextId<schema::StackRow>();
    m_context.file.rows().insert(schema::StackRow{.id = id, .name_id = m_frames.front().function});
    int64_t depth = 0;
    for (const Frame& frame : m_frames) {
      m_context.file.rows().insert(schema::StackFrameRow{
          .stack_id = id, .depth = depth++, .function_id = frame.function, .file_id = frame.file, .line = 0});
    }
    return id;
  }

  NsysContext& m_context;
  std::unordered_map<int64_t, int64_t> m_stacks;
  std::vector<Frame> m_frames;
  int64_t m_chain = 0;
};

// No value: it is counted and left out.
std::optional<NsysTimes> hostTimes(NsysContext& context, const NsysRow& row, int start, int end) {
  const auto times = context.times(row.integer(start), row.integer(end));
  if (!times) return std::nullopt;
  if (times->isUsable) return times;
  context.tally.count(NsysReason::BadDuration);
  return std::nullopt;
}

void importApiCalls(NsysContext& context, const char* table, bool isDriverTable) {
  const CallStacks stacks(context, "CUDA_CALLCHAINS");
  context.forEachEvent(
      table, {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue", "callchainId"},
      [&](const NsysRow& row) {
        const auto kind = row.integer(2);
        if (kind == kCudaStart || kind == kCudaFinish || kind == kCudaError) {
          return context.tally.count(NsysReason::ProfilerNotice);
        }
        const auto times = hostTimes(context, row, 0, 1);
        if (!times) return;
        const int64_t process = context.registry.process(row.integer(3));
        const int64_t thread = context.registry.thread(row.integer(3));
        context.registry.noteTime(process, times->start, times->start + times->duration);
        const int64_t id = context.file.rows().nextId<schema::ApiCallRow>();
        const int64_t name = row.integer(5) ? context.names.apiNameId(*row.integer(5)) : 0;
        bool isDriver = isDriverTable || kind == kDriverClass;
        if (!isDriver && kind != kRuntimeClass && row.integer(5)) {  // one class for both
          const std::string text = context.names.text(*row.integer(5));
          isDriver = text.starts_with("cu") && !text.starts_with("cuda");
        }
        context.file.rows().insert(schema::ApiCallRow{.id = id,
                                                      .process_id = process,
                                                      .thread_id = thread,
                                                      .start_ns = times->start,
                                                      .duration_ns = times->duration,
                                                      .name_id = name,
                                                      .layer = isDriver ? "driver" : "runtime",
                                                      .correlation = row.integerOr(4, 0),
                                                      .result = row.integerOr(6, 0)});
        if (const auto stack = stacks.of(row.integer(7))) {
          context.file.rows().insert(schema::ApiCallStackRow{.api_call_id = id, .stack_id = *stack});
        }
      });
}

void importOsCalls(NsysContext& context) {
  const CallStacks stacks(context, "OSRT_CALLCHAINS");
  context.forEachEvent(
      "OSRT_API", {"start", "end", "eventClass", "globalTid", "nameId", "returnValue", "callchainId"},
      [&](const NsysRow& row) {
        if (row.integer(2) == kOsStart || row.integer(2) == kOsFinish) {
          return context.tally.count(NsysReason::ProfilerNotice);
        }
        const auto times = hostTimes(context, row, 0, 1);
        if (!times) return;
        const int64_t process = context.registry.process(row.integer(3));
        context.registry.noteTime(process, times->start, times->start + times->duration);
        context.file.rows().insert(schema::OsCallRow{.id = context.file.rows().nextId<schema::OsCallRow>(),
                                                     .process_id = process,
                                                     .thread_id = context.registry.thread(row.integer(3)),
                                                     .start_ns = times->start,
                                                     .duration_ns = times->duration,
                                                     .name_id = context.names.textId(row.integer(4)),
                                                     .result = row.integerOr(5, 0),
                                                     .stack_id = stacks.of(row.integer(6))});
      });
}

// Tables of host intervals that become ranges of a domain of their own. Their other columns become the payload.
struct RangeTable {
  const char* table;
  const char* domain;
  const char* kind;  // push_pop: nested in the ranges of their thread
};
constexpr RangeTable kRangeTables[] = {
    {"PROFILER_OVERHEAD", "profiler overhead", "start_end"},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "profiler overhead", "start_end"},
    {"CUPTI_ACTIVITY_KIND_JIT", "CUDA JIT", "start_end"},
    {"CUDA_HOST_CALLBACK", "CUDA host callback", "push_pop"},
    {"CUDA_GRAPH_EVENTS", "CUDA graphs", "start_end"},
    {"CUDA_GRAPH_NODE_EVENTS", "CUDA graphs", "start_end"},  // where in the program a node was made
    {"CUBLAS_EVENTS", "cuBLAS", "push_pop"},
    {"CUDNN_EVENTS", "cuDNN", "push_pop"},
    {"MPI_P2P_EVENTS", "MPI", "push_pop"},
    {"MPI_COLLECTIVES_EVENTS", "MPI", "push_pop"},
    {"MPI_START_WAIT_EVENTS", "MPI", "push_pop"},
    {"MPI_OTHER_EVENTS", "MPI", "push_pop"},
    {"UCP_SUBMIT_EVENTS", "UCX", "push_pop"},
    {"UCP_PROGRESS_EVENTS", "UCX", "push_pop"},
    {"UCP_EVENTS", "UCX", "push_pop"},
    {"SYSCALL", "system calls", "start_end"},
    {"CUPTI_ACTIVITY_KIND_OPENACC_DATA", "OpenACC", "start_end"},
    {"CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", "OpenACC", "start_end"},
    {"CUPTI_ACTIVITY_KIND_OPENACC_OTHER", "OpenACC", "start_end"},
};

bool isOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// ENUM_CUPTI_OVERHEAD_TYPE, by the export's own labels.
std::map<int64_t, std::string> labelsOf(NsysContext& context, const char* table) {
  std::map<int64_t, std::string> labels;
  context.source.forEach(table, {"id", "label|name"},
                         [&](const NsysRow& row) { labels.emplace(row.integerOr(0, 0), std::string(row.text(1))); });
  return labels;
}

class Ranges {
 public:
  Ranges(NsysContext& context, const RangeTable& table, const std::map<int64_t, std::string>& overheads)
      : m_context(context), m_table(table), m_overheads(overheads), m_domain(context.file.textId(table.domain)) {}

  void import() {
    std::vector<const char*> columns = {"start", "end", "globalTid", "nameId|textId", "overheadType", "globalPid"};
    m_own = m_context.source.columns(m_table.table);
    std::erase_if(m_own, [](const std::string& name) {
      return isOneOf(name, {"start", "end", "globalTid", "globalPid", "nameId", "textId", "eventClass", "overheadType",
                            "callchainId"});
    });
    for (const std::string& name : m_own) columns.push_back(name.c_str());
    m_context.forEachEvent(m_table.table, columns, [&](const NsysRow& row) { take(row); });
  }

 private:
  void take(const NsysRow& row) {
    const auto times = m_context.times(row.integer(0), row.integer(1));
    if (!times) return;
    const bool isOpen = row.isNull(1);
    if (!times->isUsable && !isOpen) return m_context.tally.count(NsysReason::BadDuration);
    if (isOpen) m_context.tally.count(NsysReason::NeverEnded);
    const auto global = row.integer(2) ? row.integer(2) : row.integer(5);
    const int64_t process = m_context.registry.process(global);
    m_context.registry.noteTime(process, times->start, times->start + times->duration);
    const int64_t id = m_context.file.rows().nextId<schema::RangeRow>();
    m_context.file.rows().insert(schema::RangeRow{.id = id,
                                                  .process_id = process,
                                                  .thread_id = m_context.registry.thread(global),
                                                  .end_thread_id = std::nullopt,
                                                  .start_ns = times->start,
                                                  .duration_ns = isOpen ? std::nullopt : std::optional(times->duration),
                                                  .kind = m_table.kind,
                                                  .depth = 0,  // the last pass over the file knows
                                                  .parent_id = std::nullopt,
                                                  .domain_id = m_domain,
                                                  .name_id = nameOf(row),
                                                  .category_id = std::nullopt,
                                                  .color_argb = std::nullopt});
    constexpr int kFirstOwn = 6;
    for (size_t i = 0; i < m_own.size(); ++i) payload(row, kFirstOwn + static_cast<int>(i), id, m_own[i]);
  }

  [[nodiscard]] int64_t nameOf(const NsysRow& row) {
    if (row.integer(3)) return m_context.names.textId(*row.integer(3));
    const auto label = m_overheads.find(row.integerOr(4, -1));
    return label != m_overheads.end() ? m_context.file.textId(label->second) : m_domain;
  }

  void payload(const NsysRow& row, int column, int64_t range, const std::string& name) {
    schema::Value value;
    switch (row.type(column)) {
      case ValueType::Integer:
        value = *row.integer(column);
        break;
      case ValueType::Real:
        value = row.real(column);
        break;
      case ValueType::Text:
        value = row.text(column);
        break;
      default:
        return;
    }
    m_context.file.rows().insert(
        schema::RangePayloadRow{.range_id = range, .name_id = m_context.file.textId(name), .value = value});
  }

  NsysContext& m_context;
  const RangeTable& m_table;
  const std::map<int64_t, std::string>& m_overheads;
  int64_t m_domain;
  std::vector<std::string> m_own;
};

}  // namespace

void importHost(NsysContext& context) {
  importApiCalls(context, "CUPTI_ACTIVITY_KIND_RUNTIME", false);
  importApiCalls(context, "CUPTI_ACTIVITY_KIND_DRIVER", true);
  importOsCalls(context);
  const auto overheads = labelsOf(context, "ENUM_CUPTI_OVERHEAD_TYPE");
  for (const RangeTable& table : kRangeTables) Ranges(context, table, overheads).import();
  context.source.forEach("MPI_RANKS", {"globalTid", "rank"}, [&](const NsysRow& row) {
    const auto process = context.registry.knownProcess(row.integer(0));
    if (process && row.integer(1)) context.registry.noteRank(*process, *row.integer(1));
  });
}

}  // namespace plumb::import
