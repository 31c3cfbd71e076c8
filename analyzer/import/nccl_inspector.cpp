// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nccl_inspector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "analyzer/import/losses.h"
#include "analyzer/import/nccl_names.h"
#include "analyzer/import/object_stream.h"
#include "analyzer/import/plain_json.h"
#include "analyzer/import/registry.h"

namespace plumb::import {
namespace {

constexpr LossReason kDamagedObject = {
    false, true, "error", "damaged_event",
    "{0} [object|objects] of {1} [is|are] damaged and left out; [it is|the first] at byte {2} of its JSON."};
constexpr LossReason kOtherObject = {false, false, "info", "other_record",
                                     "{0} [record|records] of {1} [is|are] about no collective (statistics of dumps, "
                                     "proxy operations) and [is|are] left out; [it is|the first] at byte {2}."};
constexpr LossReason kDropped = {
    true, false, "warning", "dropped_by_source",
    "NCCL Inspector dropped {0} collectives before it wrote {1}, because its ring was full."};
constexpr LossReason kNoStart = {
    true, false, "info", "no_start",
    "{0} [collective|collectives] of {1} [tells|tell] how long [it|they] took but not when [it|they] began: the time "
    "at which [it was|they were] written stands for it (NCCL_INSPECTOR_DUMP_VERBOSE=1 writes their times)."};

constexpr int64_t kMostRanks = int64_t{1} << 24;
constexpr double kMostGigabytesPerSecond = 1e9;
constexpr int64_t kMostBytes = int64_t{1} << 53;
constexpr int64_t kLatestUs = (int64_t{1} << 61) / 1000;

std::optional<int64_t> hashIn(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<int64_t>(value);
}

class Inspector {
 public:
  explicit Inspector(SourceContext& context) : m_context(context), m_registry(context.file, false) {}

  // False: it is no JSON.
  bool take(std::string_view text, uint64_t offset) {
    ++m_result.events;
    const PlainDocument document = readPlainJson(std::string(text));
    if (document.problem()) {
      m_losses.count(kDamagedObject, offset);
      return false;
    }
    m_losses.count(kUnusableCharacters, offset + document.firstMended(), document.mendedCharacters());
    takeRecord(document, offset);
    return true;
  }

  void takeRecord(const PlainDocument& document, uint64_t offset) {
    const PlainValue& root = document.root();
    const PlainValue* header = document.find(root, "header");
    const PlainValue* metadata = document.find(root, "metadata");
    const PlainValue* collective = document.find(root, "coll_perf");
    const PlainValue* transfer = document.find(root, "p2p_perf");
    if (const PlainValue* statistics = document.find(root, "dump_stats")) noteDrops(document, *statistics, offset);
    if (!collective && !transfer) return m_losses.count(kOtherObject, offset);
    if (!header || !metadata ||
        !store(document, *header, *metadata, collective ? *collective : *transfer, collective ? "coll" : "p2p",
               offset)) {
      m_losses.count(kDamagedObject, offset);
    }
  }

  void noteEnd(const ObjectStreamEnd& end) {
    m_result.events += end.damaged;
    m_losses.count(kDamagedObject, end.firstDamage, end.damaged);
    m_isCut = end.isCut;
  }

  [[nodiscard]] bool isEmpty() const { return m_stored == 0; }

  [[nodiscard]] SourceResult finish() {
    // A process is the rank that it has in its largest communicator.
    std::map<int64_t, const Communicator*> largest;
    for (const auto& [key, communicator] : m_communicators) {
      const Communicator*& best = largest[key.first];
      if (!best || communicator.ranks > best->ranks) best = &communicator;
    }
    RunFacts facts;
    for (const auto& [process, communicator] : largest) {
      m_result.worldSize = std::max(m_result.worldSize, std::optional(communicator->ranks));
      facts.ranks[process] = communicator->rank;
    }
    m_result.processes = m_registry.processes();
    if (facts.ranks.size() == 1) {
      m_result.rank = m_context.rank ? m_context.rank : std::optional(facts.ranks.begin()->second);
      facts.ranks.clear();
    } else {
      for (const auto& [process, rank] : facts.ranks) m_result.ranks.push_back(rank);
      if (m_context.rank) noteRankNotUsed(m_context, m_result);
    }
    m_result.originNs = m_originNs.value_or(0);
    if (m_originNs) m_result.firstNs = *m_originNs + std::min<int64_t>(m_firstNs, 0);
    facts.rank = m_result.rank;
    facts.worldSize = m_result.worldSize;
    facts.source = m_context.name;
    m_registry.write(facts, std::min<int64_t>(m_firstNs, 0), m_lastNs);
    const std::optional<int64_t> process =
        m_result.processes.empty() ? std::nullopt : std::optional(m_result.processes.front());
    m_losses.write(m_context.file, process, m_context.name, m_result);
    const auto& problem = m_context.source.problem();
    if (problem || m_isCut) noteCut(m_context, process, problem.value_or("its last record is cut off"), m_result);
    return std::move(m_result);
  }

 private:
  struct Communicator {
    int64_t id = 0, ranks = 0, rank = 0, stream = 0;
  };

  void noteDrops(const PlainDocument& document, const PlainValue& statistics, uint64_t offset) {
    // Cumulative counts are in it too; those since the last record add up.
    const auto items = document.items(statistics);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const int64_t direct =
          items[i].view().ends_with("dropped_since_last_dump") ? items[i + 1].toInteger().value_or(0) : 0;
      const int64_t nested = document.integer(items[i + 1], "dropped_since_last_dump").value_or(0);
      if (direct > 0) m_losses.count(kDropped, offset, static_cast<uint64_t>(direct));
      if (nested > 0) m_losses.count(kDropped, offset, static_cast<uint64_t>(nested));
    }
  }

  // In nanoseconds, of microseconds with or without a fraction.
  static std::optional<int64_t> durationIn(const PlainDocument& document, const PlainValue& dict,
                                           const std::string& key) {
    const PlainValue* value = document.find(dict, key);
    if (!value) return std::nullopt;
    if (const auto whole = value->toInteger()) {
      return *whole >= 0 && *whole < kLatestUs ? std::optional(*whole * 1000) : std::nullopt;
    }
    const auto real = value->toReal();
    const bool isUsable = real && *real >= 0 && *real < static_cast<double>(kLatestUs);
    return isUsable ? std::optional<int64_t>(std::llround(*real * 1000)) : std::nullopt;
  }

  [[nodiscard]] std::optional<int64_t> microseconds(std::optional<int64_t> time) {
    if (!time || *time <= 0 || *time >= kLatestUs) return std::nullopt;
    if (!m_originNs) m_originNs = *time * 1000;
    return *time * 1000 - *m_originNs;
  }

  bool store(const PlainDocument& document, const PlainValue& header, const PlainValue& metadata,
             const PlainValue& perf, const std::string& kind, uint64_t offset) {
    const auto key = [&](const char* name) { return fmt::format("{}_{}", kind, name); };
    const auto hash = hashIn(document.text(header, "id"));
    const auto rank = document.integer(header, "rank"), ranks = document.integer(header, "n_ranks");
    const std::string_view told = document.text(perf, kind);
    const auto bytes = document.integer(perf, key("msg_size_bytes")),
               took = durationIn(document, perf, key("exec_time_us"));
    const auto written = microseconds(document.integer(metadata, "dump_timestamp_us"));
    const bool isUsable = hash && rank && *rank >= 0 && ranks && *ranks > *rank && *ranks <= kMostRanks &&
                          !told.empty() && bytes && *bytes >= 0 && *bytes <= kMostBytes && took && written;
    if (!isUsable) return false;

    const std::string pid = std::to_string(document.integer(metadata, "pid").value_or(0));
    const std::string_view host = document.text(metadata, "hostname");
    const std::string processKey = keyOf(host.empty() ? pid : fmt::format("{}@{}", pid, host), *hash, *rank);
    const int64_t process = m_registry.process(processKey);
    m_registry.nameProcess(processKey,
                           fmt::format("NCCL Inspector, pid {}{}{}", pid, host.empty() ? "" : " on ", host));
    const Communicator& communicator = communicatorOf(document, header, process, *hash, *rank, *ranks);

    auto& rows = m_context.file.rows();
    const std::string_view known = ncclOperation(told);
    const auto peer = document.integer(perf, "p2p_peer");
    const int64_t id = rows.nextId<schema::CollectiveRow>();
    const Times times = timesOf(document, perf, kind);
    const int64_t external = times.kernelStart ? ++m_lastExternal : 0;
    const int64_t start = times.start.value_or(*written);
    if (!times.start) m_losses.count(kNoStart, offset);
    m_firstNs = std::min(m_firstNs, start);
    m_lastNs = std::max(m_lastNs, *written);
    if (times.kernelStart) m_lastNs = std::max(m_lastNs, times.kernelEnd);
    const auto name = [&](const char* field) -> std::optional<int64_t> {
      const std::string_view text = document.text(perf, key(field));
      return text.empty() || text == "unknown" ? std::nullopt : std::optional(m_context.file.textId(text));
    };
    rows.insert(schema::CollectiveRow{.id = id,
                                      .process_id = process,
                                      .thread_id = m_registry.thread(process, processKey, "0"),
                                      .communicator_id = communicator.id,
                                      .start_ns = start,
                                      .duration_ns = times.start ? std::max<int64_t>(times.end - start, 0) : 0,
                                      .sequence = document.integer(perf, key("sn")).value_or(-1),
                                      .operation_id = m_context.file.textId(known.empty() ? told : known),
                                      .datatype_id = 0,
                                      .element_count = 0,
                                      .bytes = *bytes,
                                      .root = std::nullopt,
                                      .peer = peer && *peer >= 0 ? peer : std::nullopt,
                                      .algorithm_id = name("algo"),
                                      .protocol_id = name("proto"),
                                      .channels = times.channels > 0 ? std::optional(times.channels) : std::nullopt,
                                      .stream_handle = std::nullopt,
                                      .external_id = external > 0 ? std::optional(external) : std::nullopt});
    const auto bandwidth = [&](const char* field) -> std::optional<double> {
      const PlainValue* value = document.find(perf, key(field));
      const auto number = value ? value->toReal() : std::nullopt;
      return number && *number >= 0 && *number < kMostGigabytesPerSecond ? std::optional(*number * 1e9) : std::nullopt;
    };
    rows.insert(schema::CollectiveTimingRow{.collective_id = id,
                                            .duration_ns = *took,
                                            .source = document.text(perf, key("timing_source")),
                                            .algbw_bytes_per_s = bandwidth("algobw_gbs"),
                                            .busbw_bytes_per_s = bandwidth("busbw_gbs")});
    if (external > 0) storeKernel(process, communicator, external, times, known.empty() ? told : known);
    ++m_stored;
    return true;
  }

  // A process that drives several GPUs is several ranks: no rank has two places in a communicator. Which of them a
  // communicator belongs to that none is in yet is not said; the first one's it becomes.
  std::string keyOf(std::string process, int64_t hash, int64_t rank) {
    std::vector<std::map<int64_t, int64_t>>& places = m_places[process];
    size_t at = 0;
    while (at < places.size() && places[at].contains(hash) && places[at][hash] != rank) ++at;
    if (at == places.size()) places.emplace_back();
    places[at].emplace(hash, rank);
    return at == 0 ? std::move(process) : fmt::format("{} {}", process, at);
  }

  const Communicator& communicatorOf(const PlainDocument& document, const PlainValue& header, int64_t process,
                                     int64_t hash, int64_t rank, int64_t ranks) {
    Communicator& found = m_communicators[{process, hash}];
    if (found.id != 0) return found;
    auto& rows = m_context.file.rows();
    found = {rows.nextId<schema::CommunicatorRow>(), ranks, rank, static_cast<int64_t>(m_communicators.size())};
    const std::string_view name = document.text(header, "comm_name");
    const bool isNamed = !name.empty() && name != "unknown";
    rows.insert(schema::CommunicatorRow{.id = found.id,
                                        .process_id = process,
                                        .hash = hash,
                                        .name_id = isNamed ? std::optional(m_context.file.textId(name)) : std::nullopt,
                                        .n_ranks = ranks,
                                        .rank = rank,
                                        .n_nodes = document.integer(header, "nnodes").value_or(0)});
    return found;
  }

  struct Times {
    std::optional<int64_t> start;  // of the host's call
    int64_t end = 0;
    std::optional<int64_t> kernelStart;
    int64_t kernelEnd = 0;
    int64_t channels = 0;
  };
  Times timesOf(const PlainDocument& document, const PlainValue& perf, const std::string& kind) {
    Times times;
    const PlainValue* trace = document.find(perf, "event_trace_ts");
    if (!trace) return times;
    times.start = microseconds(document.integer(*trace, kind + "_start_ts"));
    times.end = microseconds(document.integer(*trace, kind + "_stop_ts")).value_or(times.start.value_or(0));
    const PlainValue* channels = document.find(*trace, "kernel_events");
    if (!channels) return times;
    for (const PlainValue& channel : document.items(*channels)) {
      const auto first = microseconds(document.integer(channel, "kernel_start_ts"));
      const auto last = microseconds(document.integer(channel, "kernel_stop_ts"));
      if (!first || !last || *last < *first) continue;
      times.kernelEnd = times.kernelStart ? std::max(times.kernelEnd, *last) : *last;
      times.kernelStart = std::min(times.kernelStart.value_or(*first), *first);
      ++times.channels;
    }
    if (!times.start) times.kernelStart.reset();
    return times;
  }

  // The kernel's time as NCCL saw it from the host, so that arrivals and waits can be told.
  void storeKernel(int64_t process, const Communicator& communicator, int64_t external, const Times& times,
                   std::string_view operation) {
    auto& rows = m_context.file.rows();
    const int64_t device = m_registry.device(process, 0);
    const KernelNameIds names = m_context.file.kernelNameIds(fmt::format("nccl {}", operation));
    rows.insert(schema::KernelRow{.id = rows.nextId<schema::KernelRow>(),
                                  .process_id = process,
                                  .device_id = device,
                                  .stream_id = m_registry.stream(process, device, communicator.stream, 0),
                                  .start_ns = *times.kernelStart,
                                  .duration_ns = times.kernelEnd - *times.kernelStart,
                                  .name_id = names.full,
                                  .short_name_id = names.shortName,
                                  .mangled_name_id = names.mangled,
                                  .correlation = external,
                                  .grid_x = times.channels,
                                  .grid_y = 1,
                                  .grid_z = 1,
                                  .block_x = 0,
                                  .block_y = 0,
                                  .block_z = 0,
                                  .registers_per_thread = 0,
                                  .static_shared_bytes = 0,
                                  .dynamic_shared_bytes = 0,
                                  .local_bytes_per_thread = 0,
                                  .graph_id = std::nullopt,
                                  .graph_node_id = std::nullopt,
                                  .flags = 0});
    rows.insert(schema::CorrelationLinkRow{.process_id = process, .external_id = external, .correlation = external});
  }

  SourceContext& m_context;
  Registry m_registry;
  Losses m_losses;
  SourceResult m_result;
  std::map<std::pair<int64_t, int64_t>, Communicator> m_communicators;      // by process and hash
  std::map<std::string, std::vector<std::map<int64_t, int64_t>>> m_places;  // by process: ranks by hash
  std::optional<int64_t> m_originNs;
  int64_t m_firstNs = 0, m_lastNs = 0, m_lastExternal = 0;
  uint64_t m_stored = 0;
  bool m_isCut = false;
};

}  // namespace

bool looksLikeInspector(std::string_view head, const std::string&) {
  // The first lines may be damaged, so not only the very first byte counts.
  const std::string_view start = head.substr(0, 64u << 10);
  const auto holds = [&](std::string_view mark) { return start.find(mark) != std::string_view::npos; };
  if (holds("\"traceEvents\"") || start.find("{\"") == std::string_view::npos) return false;
  return holds("\"inspector_output_format_version\"") || holds("\"coll_perf\"");
}

Result<SourceResult> readInspector(SourceContext& context) {
  Inspector inspector(context);
  inspector.noteEnd(
      readObjects(context, [&](std::string_view text, uint64_t offset) { return inspector.take(text, offset); }));
  if (inspector.isEmpty()) {
    const auto& problem = context.source.problem();
    return Error{fmt::format("{} is output of NCCL Inspector, but holds no collective that can be read{}{}.",
                             context.path, problem ? ": " : "", problem.value_or(""))};
  }
  return inspector.finish();
}

}  // namespace plumb::import
