// SPDX-License-Identifier: Apache-2.0
// NCCL marks its calls with NVTX ranges whose payload names the communicator and the size of the message.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/import/nsys_nvtx.h"
#include "analyzer/import/tally.h"
#include "collector/schema/collective_names.h"

namespace plumb::import {
namespace {

// What NCCL calls the fields of its payloads.
struct Payload {
  std::optional<int64_t> communicator, bytes, ranks, rank, root, peer;
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

Payload payloadOf(const NcclCall& call) {
  Payload payload;
  for (const PayloadField& field : call.fields) {
    const auto* value = std::get_if<int64_t>(&field.value);
    if (value == nullptr) continue;
    // An export that makes columns of the fields replaces what is no letter.
    std::string name = lower(field.name);
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, ' ');
    const auto is = [&](std::string_view start) { return name.starts_with(start); };
    if (is("nccl communicator id")) payload.communicator = *value;
    if (is("message size")) payload.bytes = *value;
    if ((is("no  of ranks") || is("no of ranks")) && *value > 0) payload.ranks = *value;
    if (name == "rank" && *value >= 0) payload.rank = *value;
    if (name == "root" || name == "root rank") payload.root = *value;
    if (is("peer") && *value >= 0) payload.peer = *value;
  }
  return payload;
}

bool isGroupStart(std::string_view function) { return function == "ncclGroupStart"; }
bool isGroupEnd(std::string_view function) { return function == "ncclGroupEnd"; }

// AllReduce of ncclAllReduce; empty for what moves no data.
std::string_view operationOf(std::string_view function) {
  static constexpr std::string_view kOperations[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                                     "Bcast",     "Reduce",    "Send",          "Recv",
                                                     "AlltoAll",  "AllToAll",  "Gather",        "Scatter"};
  const std::string_view name = function.substr(4);
  for (const std::string_view operation : kOperations) {
    if (name == operation) return operation == "Bcast" ? "Broadcast" : operation == "AlltoAll" ? "AllToAll" : operation;
  }
  return {};
}

class Collectives {
 public:
  Collectives(NsysContext& context, std::vector<NcclCall> calls) : m_context(context), m_calls(std::move(calls)) {
    std::stable_sort(m_calls.begin(), m_calls.end(), [](const NcclCall& a, const NcclCall& b) {
      return a.thread != b.thread ? a.thread < b.thread : a.start < b.start;
    });
  }

  std::optional<std::string> import() {
    for (const NcclCall& call : m_calls) noteCommunicator(call);
    size_t depth = 0;
    int64_t thread = -1, group = 0;
    for (const NcclCall& call : m_calls) {
      if (call.thread != thread) depth = 0;
      thread = call.thread;
      if (isGroupStart(call.function)) {
        if (depth++ == 0) group = ++m_external;
      } else if (isGroupEnd(call.function)) {
        // The work of a group is launched by the call that ends it.
        if (depth > 0 && --depth == 0) addWindow(call, group);
      } else if (const std::string_view operation = operationOf(call.function); !operation.empty()) {
        collective(call, operation, depth > 0 ? group : ++m_external);
        if (depth == 0) addWindow(call, m_external);
      }
    }
    link();
    noteRanks();
    if (m_ofUnknownSize > 0) {
      writeDiagnostic(m_context.file, std::nullopt, "warning", "communicator_size_unknown", m_ofUnknownSize,
                      fmt::format("{} all-gathers and reduce-scatters are of communicators whose creation was not "
                                  "recorded, so their bytes are those of one rank.",
                                  m_ofUnknownSize));
    }
    if (m_withoutPayload == 0) return std::nullopt;
    return fmt::format(
        "{} calls of NCCL carry no payload, so they are ranges but not collectives: export with nsys export "
        "--include-blobs=true.",
        m_withoutPayload);
  }

 private:
  struct Communicator {
    int64_t id = 0;
    std::optional<int64_t> ranks, rank;
  };
  struct Window {
    int64_t end = 0, external = 0;
  };

  // Every call that says who is in a communicator: its creation, and in some versions its end.
  void noteCommunicator(const NcclCall& call) {
    const Payload payload = payloadOf(call);
    if (!payload.communicator || !payload.ranks) return;
    Communicator& communicator = m_communicators[{call.process, *payload.communicator}];
    if (!communicator.ranks) communicator.ranks = payload.ranks;
    if (!communicator.rank) communicator.rank = payload.rank;
    int64_t& most = m_mostRanks[call.process];
    if (payload.rank && *payload.ranks > most) {
      most = *payload.ranks;
      m_rankInMost[call.process] = *payload.rank;
    }
  }

  Communicator& communicator(int64_t process, int64_t hash) {
    Communicator& known = m_communicators[{process, hash}];
    if (known.id != 0) return known;
    known.id = m_context.file.rows().nextId<schema::CommunicatorRow>();
    m_context.file.rows().insert(schema::CommunicatorRow{.id = known.id,
                                                         .process_id = process,
                                                         .hash = hash,
                                                         .name_id = std::nullopt,
                                                         .n_ranks = known.ranks.value_or(0),
                                                         .rank = known.rank.value_or(-1),
                                                         .n_nodes = 0});  // the source does not say
    return known;
  }

  void collective(const NcclCall& call, std::string_view operation, int64_t external) {
    const Payload payload = payloadOf(call);
    if (!payload.bytes || *payload.bytes < 0) {
      ++m_withoutPayload;
      return;
    }
    m_hasCollective.insert(external);
    const Communicator* known = payload.communicator ? &communicator(call.process, *payload.communicator) : nullptr;
    int64_t bytes = *payload.bytes;
    // NCCL says the size of one rank's part; the convention counts all of them.
    const bool isPart = countsAllRanks(operation);
    if (isPart && known != nullptr && known->ranks && __builtin_mul_overflow(bytes, *known->ranks, &bytes)) bytes = 0;
    if (isPart && (known == nullptr || !known->ranks)) ++m_ofUnknownSize;
    m_context.file.rows().insert(
        schema::CollectiveRow{.id = m_context.file.rows().nextId<schema::CollectiveRow>(),
                              .process_id = call.process,
                              .thread_id = call.thread,
                              .communicator_id = known != nullptr ? std::optional(known->id) : std::nullopt,
                              .start_ns = call.start,
                              .duration_ns = call.duration,
                              .sequence = -1,  // the source does not say
                              .operation_id = m_context.file.textId(operation),
                              .datatype_id = 0,
                              .element_count = 0,  // nor these
                              .bytes = bytes,
                              .root = payload.root,
                              .peer = payload.peer,
                              .algorithm_id = std::nullopt,
                              .protocol_id = std::nullopt,
                              .channels = std::nullopt,
                              .stream_handle = std::nullopt,
                              .external_id = external});
  }

  void addWindow(const NcclCall& call, int64_t external) {
    m_windows[call.thread].emplace(call.start, Window{call.start + call.duration, external});
  }

  // A kernel belongs to the call inside which it was launched, on the same thread.
  void link() {
    if (m_hasCollective.empty()) return;
    schema::Database& database = m_context.file.database();
    m_context.file.rows().commit();
    std::unordered_set<int64_t> names;
    forEach(database, "SELECT id, text FROM string WHERE id IN (SELECT name_id FROM kernel)",
            [&](schema::Statement& row) {
              if (isCommunicationName(row.text(1))) names.insert(row.integer(0));
            });
    std::unordered_set<std::pair<int64_t, int64_t>, PairHash> kernels;  // process, correlation
    forEach(database, "SELECT process_id, correlation, name_id FROM kernel WHERE correlation <> 0",
            [&](schema::Statement& row) {
              if (names.count(row.integer(2)) != 0) kernels.emplace(row.integer(0), row.integer(1));
            });
    std::vector<schema::CorrelationLinkRow> links;
    forEach(database, "SELECT process_id, correlation, thread_id, start_ns FROM api_call WHERE correlation <> 0",
            [&](schema::Statement& row) {
              const std::pair key{row.integer(0), row.integer(1)};
              if (kernels.count(key) == 0) return;
              if (const int64_t external = at(row.integer(2), row.integer(3)); m_hasCollective.count(external) != 0) {
                links.push_back({.process_id = key.first, .external_id = external, .correlation = key.second});
              }
            });
    for (const schema::CorrelationLinkRow& link : links) m_context.file.rows().insert(link);
  }

  // In its largest communicator a process has its rank in the run, unless all of them are of parts of the run: then
  // several processes of the file would have the same one.
  void noteRanks() {
    std::set<int64_t> ranks;
    for (const auto& [process, rank] : m_rankInMost) ranks.insert(rank);
    if (ranks.size() != m_rankInMost.size()) return;
    for (const auto& [process, rank] : m_rankInMost) m_context.registry.noteRank(process, rank);
  }

  // Of the innermost window around a time; 0: none.
  [[nodiscard]] int64_t at(int64_t thread, int64_t time) const {
    const auto windows = m_windows.find(thread);
    if (windows == m_windows.end()) return 0;
    auto window = windows->second.upper_bound(time);
    if (window == windows->second.begin()) return 0;
    --window;
    return time <= window->second.end ? window->second.external : 0;
  }

  template <class Take>
  static void forEach(schema::Database& database, const char* sql, Take&& take) {
    auto rows = database.prepare(sql);
    while (rows.ok() && rows.value().next()) take(rows.value());
  }

  NsysContext& m_context;
  std::vector<NcclCall> m_calls;
  std::map<std::pair<int64_t, int64_t>, Communicator> m_communicators;
  std::map<int64_t, int64_t> m_mostRanks, m_rankInMost;              // by process
  std::unordered_map<int64_t, std::map<int64_t, Window>> m_windows;  // by thread, start
  std::unordered_set<int64_t> m_hasCollective;                       // external ids
  int64_t m_external = 0;
  uint64_t m_withoutPayload = 0, m_ofUnknownSize = 0;
};

}  // namespace

std::optional<std::string> importCollectives(NsysContext& context, std::vector<NcclCall> calls) {
  return Collectives(context, std::move(calls)).import();
}

}  // namespace plumb::import
