// SPDX-License-Identifier: Apache-2.0
// Events of NCCL's example profiler plugin.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "analyzer/import/losses.h"
#include "analyzer/import/nccl_inspector.h"
#include "analyzer/import/nccl_names.h"
#include "analyzer/import/object_stream.h"
#include "analyzer/import/plain_json.h"
#include "analyzer/import/registry.h"
#include "analyzer/trace/time.h"

namespace plumb::import {
namespace {

constexpr LossReason kDamagedEvent = {
    false, true, "error", "damaged_event",
    "{0} [event|events] of {1} [is|are] damaged and left out; [it is|the first] at byte {2} of its data."};
constexpr LossReason kNoTime = {false, false, "warning", "no_time",
                                "{0} [event|events] of {1} [has|have] the time 0, which stands for none, and [is|are] "
                                "left out; [it is|the first] at byte {2} of its data."};
constexpr LossReason kEndWithoutBegin = {
    false, false, "warning", "end_without_begin",
    "{0} [end|ends] of {1} [has|have] no beginning and [is|are] left out; [it is|the first] at byte {2} of its data."};
constexpr LossReason kNeverEnded = {true, false, "warning", "never_ended",
                                    "{0} [range|ranges] of {1} [begins|begin] and [has|have] no end with a time."};

constexpr double kLatestUs = 2e15;

// Words that are no JSON become texts: 0x7f00, ncclFloat32, (nil), nan.
std::string repaired(std::string_view text) {
  std::string out;
  bool inText = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inText) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) {
        out += text[++i];
      } else if (c == '"') {
        inText = false;
      }
      continue;
    }
    const bool isPlain = c == '"' || std::string_view("{}[],: \t\r\n").find(c) != std::string_view::npos;
    if (isPlain) {
      inText = c == '"';
      out += c;
      continue;
    }
    const size_t end = std::min(text.find_first_of(",}] \t\r\n\"", i), text.size());
    const std::string_view word = text.substr(i, end - i);
    const bool isNumber = word.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
    const bool isWord = word == "true" || word == "false" || word == "null";
    out += isNumber || isWord ? std::string(word) : fmt::format("\"{}\"", word);
    i = end - 1;
  }
  return out;
}

class Events {
 public:
  explicit Events(SourceContext& context) : m_context(context), m_registry(context.file, false) {}

  // False: it is damaged.
  bool take(std::string_view text, uint64_t offset) {
    ++m_result.events;
    const PlainDocument document = readPlainJson(repaired(text));
    const PlainValue& root = document.root();
    const std::string_view phase = document.text(root, "ph"), name = document.text(root, "name");
    const PlainValue* ts = document.find(root, "ts");
    const double time = ts ? ts->toReal().value_or(-1) : -1;
    const bool isUsable =
        !document.problem() && (phase == "b" || phase == "e") && !name.empty() && time >= 0 && time < kLatestUs;
    if (!isUsable) {
      m_losses.count(kDamagedEvent, offset);
      return false;
    }
    const std::string pid = std::to_string(document.integer(root, "pid").value_or(0));
    const std::string tid = std::to_string(document.integer(root, "tid").value_or(0));
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}", document.text(root, "cat"), pid, document.integer(root, "id").value_or(0), name);
    const auto ns = static_cast<int64_t>(std::llround(time * 1000));
    std::string& collective = m_collectives[{pid, tid}];
    if (phase == "b") {
      m_open[key].push_back(begin(document, root, pid, tid, name, ns, offset));
      if (m_open[key].back().isCollective) collective = key;
      if (name == "KernelCh") addKernel(document, root, collective);
    } else {
      end(key, ns, offset);
      if (collective == key) collective.clear();
    }
    return true;
  }

  void noteEnd(const ObjectStreamEnd& end) {
    m_result.events += end.damaged;
    m_losses.count(kDamagedEvent, end.firstDamage, end.damaged);
    for (auto& [key, ranges] : m_open) {
      for (Range& range : ranges) finishRange(range, 0);
    }
  }
  [[nodiscard]] bool isEmpty() const { return m_stored == 0; }

  [[nodiscard]] SourceResult finish() {
    m_result.rank = m_context.rank ? m_context.rank : m_result.rank;
    if (!m_result.rank) m_result.rank = rankInName(m_context.name);
    m_result.processes = m_registry.processes();
    if (m_firstNs) m_result.firstNs = *m_firstNs;
    RunFacts facts;
    facts.rank = m_result.rank;
    facts.source = m_context.name;
    m_registry.write(facts, m_firstNs.value_or(0), m_lastNs);
    const std::optional<int64_t> process =
        m_result.processes.empty() ? std::nullopt : std::optional(m_result.processes.front());
    m_losses.write(m_context.file, process, m_context.name, m_result);
    if (const auto& problem = m_context.source.problem()) noteCut(m_context, process, *problem, m_result);
    return std::move(m_result);
  }

 private:
  struct Range {
    int64_t process = 0, thread = 0, start = 0;
    std::string name, category, arguments;  // arguments: JSON as text, for the payload
    uint64_t offset = 0;
    // Of a collective or a transfer.
    bool isCollective = false;
    int64_t communicator = 0, sequence = -1, elements = 0, channels = 0;
    std::optional<int64_t> peer;
    std::string datatype;
    std::optional<Interval> kernel;  // from the first channel's start to the last one's stop, by the GPU's clock
    std::vector<std::pair<std::string, schema::Value>> payload;
  };

  Range begin(const PlainDocument& document, const PlainValue& root, const std::string& pid, const std::string& tid,
              std::string_view name, int64_t start, uint64_t offset) {
    Range range;
    range.process = m_registry.process(pid);
    m_registry.nameProcess(pid, fmt::format("NCCL profiler, pid {}", pid));
    range.thread = m_registry.thread(range.process, pid, tid);
    range.start = start;
    range.name = name;
    range.category = document.text(root, "cat");
    range.offset = offset;
    const PlainValue* arguments = document.find(root, "args");
    if (!arguments) return range;
    const auto items = document.items(*arguments);
    for (size_t i = 0; i + 1 < items.size() && arguments->kind == PlainKind::Dict; i += 2) {
      if (const auto number = items[i + 1].toInteger()) {
        range.payload.emplace_back(std::string(items[i].view()), *number);
      }
    }
    const PlainValue* hash = document.find(*arguments, "CommHash");
    const bool isNumber = hash && (hash->kind == PlainKind::Integer || hash->kind == PlainKind::LongInteger);
    range.isCollective = isNumber && document.find(*arguments, "Count");
    if (!range.isCollective) return range;
    range.communicator = communicator(range.process, hash->integer,
                                      std::max<int64_t>(document.integer(*arguments, "Rank").value_or(-1), -1));
    range.sequence = document.integer(*arguments, "SeqNum").value_or(-1);
    range.elements = std::max<int64_t>(document.integer(*arguments, "Count").value_or(0), 0);
    range.channels = document.integer(*arguments, "nChannels").value_or(0);
    range.peer = document.integer(*arguments, "Peer");
    if (range.peer && *range.peer < 0) range.peer.reset();  // -1: none
    range.datatype = document.text(*arguments, "Datatype");
    return range;
  }

  // A channel of the kernel of the collective that stands around it: by the GPU's clock, in ns, 0 for not known.
  void addKernel(const PlainDocument& document, const PlainValue& root, const std::string& collective) {
    const PlainValue* arguments = document.find(root, "args");
    const auto open = m_open.find(collective);
    if (!arguments || open == m_open.end() || open->second.empty()) return;
    const int64_t start = document.integer(*arguments, "StartGpuClk").value_or(0),
                  stop = document.integer(*arguments, "StopGpuClk").value_or(0);
    if (start <= 0 || stop < start) return;
    std::optional<Interval>& kernel = open->second.back().kernel;
    const Interval mine{TimePoint(start), TimePoint(stop)};
    kernel = kernel ? Interval{std::min(kernel->start, mine.start), std::max(kernel->end, mine.end)} : mine;
  }

  int64_t communicator(int64_t process, int64_t hash, int64_t rank) {
    int64_t& id = m_communicators[{process, hash}];
    if (id != 0) return id;
    id = m_context.file.rows().nextId<schema::CommunicatorRow>();
    m_context.file.rows().insert(schema::CommunicatorRow{.id = id,
                                                         .process_id = process,
                                                         .hash = hash,
                                                         .name_id = std::nullopt,
                                                         .n_ranks = 0,
                                                         .rank = rank,
                                                         .n_nodes = 0});
    return id;
  }

  void end(const std::string& key, int64_t ns, uint64_t offset) {
    const auto open = m_open.find(key);
    if (open == m_open.end() || open->second.empty()) return m_losses.count(kEndWithoutBegin, offset);
    Range range = std::move(open->second.back());
    open->second.pop_back();
    if (ns == 0 || ns < range.start) m_losses.count(kNoTime, offset);
    if (range.start == 0 && ns > 0) m_losses.count(kNoTime, offset);
    finishRange(range, ns);
  }

  // endNs 0: none.
  void finishRange(Range& range, int64_t endNs) {
    if (range.start == 0) return m_losses.count(kNoTime, range.offset);
    auto& file = m_context.file;
    const bool hasEnd = endNs >= range.start && endNs > 0;
    if (!hasEnd) m_losses.count(kNeverEnded, range.offset);
    m_firstNs = std::min(m_firstNs.value_or(range.start), range.start);
    m_lastNs = std::max({m_lastNs, range.start, endNs});
    const auto duration = hasEnd ? std::optional(endNs - range.start) : std::nullopt;
    ++m_stored;
    const int64_t id = file.rows().nextId<schema::RangeRow>();
    file.rows().insert(schema::RangeRow{.id = id,
                                        .process_id = range.process,
                                        .thread_id = range.thread,
                                        .end_thread_id = std::nullopt,
                                        .start_ns = range.start,
                                        .duration_ns = duration,
                                        .kind = "start_end",
                                        .depth = 0,
                                        .parent_id = std::nullopt,
                                        .domain_id = file.textId("NCCL"),
                                        .name_id = file.textId(range.name),
                                        .category_id = file.textId(range.category),
                                        .color_argb = std::nullopt});
    for (const auto& [name, value] : range.payload) {
      file.rows().insert(schema::RangePayloadRow{.range_id = id, .name_id = file.textId(name), .value = value});
    }
    if (range.isCollective) storeCollective(range, duration);
  }

  void storeCollective(const Range& range, std::optional<int64_t> duration) {
    auto& file = m_context.file;
    const std::string_view known = ncclOperation(range.name);
    const NcclDatatype type = ncclDatatype(range.datatype);
    const int64_t id = file.rows().nextId<schema::CollectiveRow>();
    file.rows().insert(
        schema::CollectiveRow{.id = id,
                              .process_id = range.process,
                              .thread_id = range.thread,
                              .communicator_id = range.communicator,
                              .start_ns = range.start,
                              .duration_ns = duration.value_or(0),
                              .sequence = range.sequence,
                              .operation_id = file.textId(known.empty() ? std::string_view(range.name) : known),
                              .datatype_id = file.textId(type.name),
                              .element_count = range.elements,
                              .bytes = ncclBytes(known, range.elements, type.bytes, 0),
                              .root = std::nullopt,
                              .peer = range.peer,
                              .algorithm_id = std::nullopt,
                              .protocol_id = std::nullopt,
                              .channels = range.channels > 0 ? std::optional(range.channels) : std::nullopt,
                              .stream_handle = std::nullopt,
                              .external_id = std::nullopt});
    // The event on the host ends when NCCL has enqueued the operation, so no bandwidth follows from it.
    if (!range.kernel && !duration) return;
    const int64_t measured = range.kernel ? range.kernel->length().ns() : *duration;
    const int64_t bytes = ncclBytes(known, range.elements, type.bytes, 0);
    file.rows().insert(schema::CollectiveTimingRow{
        .collective_id = id,
        .duration_ns = measured,
        .source = range.kernel ? "kernel_gpu" : "collective_cpu",
        .algbw_bytes_per_s = range.kernel && measured > 0 && bytes > 0
                                 ? std::optional(static_cast<double>(bytes) * 1e9 / static_cast<double>(measured))
                                 : std::nullopt,
        .busbw_bytes_per_s = std::nullopt});
  }

  SourceContext& m_context;
  Registry m_registry;
  Losses m_losses;
  SourceResult m_result;
  std::map<std::string, std::vector<Range>> m_open;
  std::map<std::pair<std::string, std::string>, std::string> m_collectives;  // by pid and tid, the open one's key
  std::map<std::pair<int64_t, int64_t>, int64_t> m_communicators;            // by process and hash
  std::optional<int64_t> m_firstNs;
  int64_t m_lastNs = 0;
  uint64_t m_stored = 0;
};

}  // namespace

bool looksLikeNcclProfiler(std::string_view head, const std::string&) {
  const std::string_view start = head.substr(0, 64u << 10);
  const auto holds = [&](std::string_view mark) { return start.find(mark) != std::string_view::npos; };
  return holds("{") && holds("\"ph\": \"b\"") &&
         (holds("\"cat\": \"GROUP_API\"") || holds("\"cat\": \"KERNEL_LAUNCH\"") || holds("\"CommHash\":"));
}

Result<SourceResult> readNcclProfiler(SourceContext& context) {
  Events events(context);
  events.noteEnd(
      readObjects(context, [&](std::string_view text, uint64_t offset) { return events.take(text, offset); }));
  if (events.isEmpty()) {
    const auto& problem = context.source.problem();
    return Error{fmt::format("{} is output of NCCL's profiler plugin, but holds no event that can be read{}{}.",
                             context.path, problem ? ": " : "", problem.value_or(""))};
  }
  return events.finish();
}

}  // namespace plumb::import
