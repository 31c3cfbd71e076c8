// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_collectives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "collector/schema/collective_names.h"

namespace plumb::import {
namespace {

// Apart from the ids that other sources of links count up from 1.
constexpr int64_t kFirstLink = int64_t{1} << 40;
constexpr size_t kMostMembers = 4096;
constexpr int64_t kMostRanks = int64_t{1} << 24;
constexpr int64_t kMostElements = int64_t{1} << 50;

// What NCCL calls it, from what torch calls it.
std::string_view operationOf(std::string_view name) {
  struct Known {
    std::string_view part, operation;
  };
  static constexpr std::array<Known, 14> kKnown = {{{"reduce_scatter", "ReduceScatter"},
                                                    {"allgather", "AllGather"},
                                                    {"all_gather", "AllGather"},
                                                    {"allreduce", "AllReduce"},
                                                    {"all_reduce", "AllReduce"},
                                                    {"all_to_all", "AllToAll"},
                                                    {"alltoall", "AllToAll"},
                                                    {"broadcast", "Broadcast"},
                                                    {"send", "Send"},
                                                    {"recv", "Recv"},
                                                    {"barrier", "Barrier"},
                                                    {"reduce", "Reduce"},
                                                    {"gather", "Gather"},
                                                    {"scatter", "Scatter"}}};
  for (const Known& known : kKnown) {
    if (name.find(known.part) != std::string_view::npos) return known.operation;
  }
  return name;
}

// Calls around collectives, under the same operator's name.
bool enqueuesNothing(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "wait", "init", "finalize", "start_coalescing", "_start_coalescing", "end_coalescing", "_end_coalescing"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

struct Datatype {
  std::string_view torch, nccl;
  int64_t bytes;
};
Datatype datatypeOf(std::string_view name) {
  static constexpr std::array<Datatype, 12> kTypes = {{{"Float", "ncclFloat32", 4},
                                                       {"Half", "ncclFloat16", 2},
                                                       {"BFloat16", "ncclBfloat16", 2},
                                                       {"Double", "ncclFloat64", 8},
                                                       {"Long", "ncclInt64", 8},
                                                       {"Int", "ncclInt32", 4},
                                                       {"Short", "Short", 2},
                                                       {"Byte", "ncclUint8", 1},
                                                       {"Char", "ncclInt8", 1},
                                                       {"Bool", "ncclUint8", 1},
                                                       {"Float8_e4m3fn", "ncclFloat8e4m3", 1},
                                                       {"Float8_e5m2", "ncclFloat8e5m2", 1}}};
  for (const Datatype& type : kTypes) {
    if (type.torch == name) return type;
  }
  return {name, name, 0};
}

// The same on every rank that names the group alike, as NCCL's own id would be.
int64_t groupHash(std::string_view text) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<int64_t>(hash);
}

// "[0, 1, 2]"; long lists are cut by the source ("[0, 1, ..., 127]"), which says nothing of the ranks between.
std::vector<int64_t> ranksOf(std::string_view text) {
  std::vector<int64_t> ranks;
  bool isWhole = true;
  const bool valid = readArray(text, [&](const JsonValue& element) {
    const auto rank = element.toInteger();
    isWhole = isWhole && rank && *rank >= 0 && *rank < kMostRanks;
    ranks.push_back(rank.value_or(0));
  });
  if (!valid || !isWhole) ranks.clear();
  return ranks;
}

bool isEmptyList(std::string_view text) { return text.empty() || text == "[]"; }

}  // namespace

struct ChromeCollectives::Facts {
  std::string name, type, group, description, ranks, inputSplits, outputSplits;
  std::optional<int64_t> in, out, size, sequence, source, target, first, stride, ownRank, isAsync;
  bool isBad = false;  // one of the numbers cannot be, and has no value

  // A number in [0, most), or none.
  std::optional<int64_t> numberBelow(int64_t most, const JsonValue& value) {
    if (value.kind == JsonKind::Null) return std::nullopt;
    const auto number = value.toInteger();
    if (number && *number >= 0 && *number < most) return number;
    isBad = true;
    return std::nullopt;
  }
  // Of a rank, where -1 stands for none.
  std::optional<int64_t> rankIn(const JsonValue& value) {
    return value.toInteger() == -1 ? std::nullopt : numberBelow(kMostRanks, value);
  }

  [[nodiscard]] int64_t elements() const {
    const std::string_view operation = operationOf(name);
    const int64_t sent = in.value_or(0), received = out.value_or(0);
    // NCCL's convention: the whole gathered or scattered message, the larger of the two sides.
    return countsAllRanks(operation) ? std::max(sent, received) : (sent != 0 ? sent : received);
  }
  [[nodiscard]] bool hasUnknownDatatype() const { return datatypeOf(type).bytes == 0 && elements() > 0; }
  // The same of an operator and of its kernel.
  [[nodiscard]] size_t hash() const {
    return std::hash<std::string>{}(
        fmt::format("{}\n{}\n{}\n{}\n{}\n{}", name, type, group, in.value_or(-1), out.value_or(-1), size.value_or(-1)));
  }

  explicit Facts(const ChromeEvent& event) {
    event.forEachArgument([&](std::string_view key, const JsonValue& value) {
      if (key == "Collective name") name = value.toText();
      if (key == "dtype") type = value.toText();
      if (key == "Process Group Name") group = value.toText();
      if (key == "Process Group Description") description = value.toText();
      if (key == "Process Group Ranks") ranks = value.toText();
      if (key == "In split size") inputSplits = value.toText();
      if (key == "Out split size") outputSplits = value.toText();
      if (key == "In msg nelems") in = numberBelow(kMostElements, value);
      if (key == "Out msg nelems") out = numberBelow(kMostElements, value);
      if (key == "Group size") size = numberBelow(kMostRanks, value);
      if (key == "Seq") sequence = value.toInteger();
      if (key == "Src Rank") source = rankIn(value);
      if (key == "Dst Rank") target = rankIn(value);
      if (key == "Global rank start") first = rankIn(value);
      if (key == "Global rank stride") stride = rankIn(value);
      if (key == "Rank") ownRank = rankIn(value);
      if (key == "Is asynchronized op") {
        isAsync = value.kind == JsonKind::Boolean ? std::optional<int64_t>(value.text == "true") : value.toInteger();
      }
    });
  }
};

bool ChromeCollectives::isCollective(const ChromeEvent& event) {
  const JsonValue name = event.argument("Collective name");
  return name.kind == JsonKind::String && !name.text.empty() && !enqueuesNothing(name.text);
}

std::optional<int64_t> ChromeCollectives::groupOf(const Facts& facts, int64_t process) {
  if (facts.group.empty() && facts.ranks.empty() && !facts.size) return std::nullopt;
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}", facts.group, facts.description, facts.ranks, facts.size.value_or(0));
  const auto [entry, isNew] = m_groups.try_emplace(key);
  Group& group = entry->second;
  if (!isNew) return group.id;
  group.id = m_file.rows().nextId<schema::CommunicatorRow>();
  group.process = process;
  group.size = facts.size.value_or(0);
  group.name = facts.group;
  group.description = facts.description;
  group.ranksText = facts.ranks;
  group.ownRank = facts.ownRank;
  group.ranks = ranksOf(facts.ranks);
  const auto size = static_cast<size_t>(std::max<int64_t>(group.size, 0));
  if (group.ranks.empty() && facts.first && facts.stride && *facts.stride > 0 && size > 0 && size <= kMostMembers) {
    for (size_t i = 0; i < size; ++i) group.ranks.push_back(*facts.first + static_cast<int64_t>(i) * *facts.stride);
  }
  return group.id;
}

void ChromeCollectives::count(const Facts& facts, uint64_t offset) {
  if (facts.isBad) m_tally.count(Reason::BadCollective, offset);
  if (facts.hasUnknownDatatype()) m_tally.count(Reason::UnknownDatatype, offset);
}

schema::CollectiveRow ChromeCollectives::rowOf(const Facts& facts, const HostSpan& span) {
  const std::string_view operation = operationOf(facts.name);
  const Datatype type = datatypeOf(facts.type);
  const int64_t in = facts.in.value_or(0), out = facts.out.value_or(0);
  const int64_t bytes = facts.elements() * type.bytes;  // cannot overflow: kMostElements
  return {.id = m_file.rows().nextId<schema::CollectiveRow>(),
          .process_id = span.process,
          .thread_id = span.thread,
          .communicator_id = groupOf(facts, span.process),
          .start_ns = span.start,
          .duration_ns = span.duration,
          .sequence = facts.sequence.value_or(-1),
          .operation_id = m_file.textId(operation),
          .datatype_id = m_file.textId(type.nccl),
          .element_count = operation == "ReduceScatter" ? std::min(in, out) : in,
          .bytes = bytes,
          .root = std::nullopt,
          .peer = operation == "Send"   ? facts.target
                  : operation == "Recv" ? facts.source
                                        : std::nullopt,
          .algorithm_id = std::nullopt,
          .protocol_id = std::nullopt,
          .channels = std::nullopt,
          .stream_handle = std::nullopt,
          .external_id = kFirstLink + ++m_links};
}

schema::CollectiveRow ChromeCollectives::insert(const Facts& facts, const HostSpan& span,
                                                std::optional<int64_t> operatorId) {
  const schema::CollectiveRow row = rowOf(facts, span);
  m_file.rows().insert(row);
  const auto splits = [&](const std::string& text) {
    return isEmptyList(text) ? std::nullopt : std::optional(m_file.textId(text));
  };
  m_file.rows().insert(schema::CollectiveDetailRow{.collective_id = row.id,
                                                   .input_elements = facts.in,
                                                   .output_elements = facts.out,
                                                   .input_splits_id = splits(facts.inputSplits),
                                                   .output_splits_id = splits(facts.outputSplits),
                                                   .is_async = facts.isAsync,
                                                   .operator_id = operatorId});
  return row;
}

// How far it came and what was measured of it, as a flight recorder and NCCL's Inspector tell.
void ChromeCollectives::insertState(const ChromeEvent& event, int64_t id, int64_t start) {
  constexpr int64_t kLongest = int64_t{1} << 60;
  const auto after = [&](const char* key) -> std::optional<int64_t> {
    const auto ns = event.argument(key).toInteger();
    return ns && *ns > -kLongest && *ns < kLongest ? std::optional(start + *ns) : std::nullopt;
  };
  if (const std::string state = event.argument("State").toText(); !state.empty()) {
    m_file.rows().insert(schema::CollectiveStateRow{.collective_id = id,
                                                    .name_id = m_file.textId(event.argument("Framework name")),
                                                    .state = state,
                                                    .p2p_sequence = event.argument("P2P seq").toInteger(),
                                                    .started_ns = after("Started after (ns)"),
                                                    .completed_ns = after("Completed after (ns)"),
                                                    .timeout_ns = event.argument("Timeout (ns)").toInteger(),
                                                    .input_sizes_id = m_file.textId(event.argument("Input sizes")),
                                                    .output_sizes_id = m_file.textId(event.argument("Output sizes")),
                                                    .stack_id = m_stacks.idOf(event.argument("Call stack"))});
  }
  if (const auto measured = event.argument("Measured duration (ns)").toInteger()) {
    const std::string source = event.argument("Measured by").toText();
    m_file.rows().insert(schema::CollectiveTimingRow{.collective_id = id,
                                                     .duration_ns = *measured,
                                                     .source = source,
                                                     .algbw_bytes_per_s = event.argument("algbw (B/s)").toReal(),
                                                     .busbw_bytes_per_s = event.argument("busbw (B/s)").toReal()});
  }
}

void ChromeCollectives::addAlone(const ChromeEvent& event, const HostSpan& span, uint64_t offset) {
  const Facts facts(event);
  count(facts, offset);
  schema::CollectiveRow row = rowOf(facts, span);
  row.root = event.argument("Root").toInteger();
  row.channels = event.argument("Channels").toInteger();
  for (const auto& [key, column] : {std::pair("Algorithm", &schema::CollectiveRow::algorithm_id),
                                    {"Protocol", &schema::CollectiveRow::protocol_id}}) {
    if (event.argument(key).kind == JsonKind::String) row.*column = m_file.textId(event.argument(key));
  }
  m_file.rows().insert(row);
  insertState(event, row.id, span.start);
  const JsonValue linked = event.argument("correlations");
  if (linked.kind != JsonKind::Array) return;
  (void)readArray(linked.text, [&](const JsonValue& element) {
    const int64_t correlation = element.toInteger().value_or(0);
    link(span.process, *row.external_id, correlation);
    if (correlation != 0) m_alone.insert(correlation);
  });
}

void ChromeCollectives::add(const ChromeEvent& event, const HostSpan& span, int64_t operatorId, uint64_t offset) {
  const Facts facts(event);
  count(facts, offset);
  const int64_t link = *insert(facts, span, operatorId).external_id;
  if (const auto external = event.argument("External id").toInteger()) {
    m_byExternal.emplace(*external, OfOperator{link, facts.hash()});
  }
}

// An "External id" that is the correlation id too may be one: the source gives that for it where there is no operator.
std::optional<int64_t> ChromeCollectives::linkOf(std::optional<int64_t> external, int64_t correlation,
                                                 std::optional<size_t> said) const {
  if (!external) return std::nullopt;
  const auto known = m_byExternal.find(*external);
  if (known == m_byExternal.end() || (*external == correlation && said != known->second.said)) return std::nullopt;
  return known->second.link;
}

void ChromeCollectives::addKernel(const ChromeEvent& event, int64_t process, int64_t start, int64_t correlation,
                                  std::optional<int64_t> external, uint64_t offset) {
  const bool isNew = m_kernels.emplace(correlation, start).second;
  const bool hasMetadata = isCollective(event);
  // Read only where it is needed: most kernels come after their operators.
  const auto facts = hasMetadata && (external == correlation || !linkOf(external, correlation, std::nullopt))
                         ? std::optional<Facts>(event)
                         : std::nullopt;
  const auto said = facts ? std::optional(facts->hash()) : std::nullopt;
  if (const auto known = linkOf(external, correlation, said)) return link(process, *known, correlation);
  if (m_alone.contains(correlation)) return;
  Waiting waiting{.process = process, .correlation = correlation, .external = external, .offset = offset};
  if (facts) {
    if (!isNew) return;  // the same event twice
    // Its host side is found by completeTrace(), through its launch.
    const schema::CollectiveRow row = insert(*facts, {process, 0, start, 0}, std::nullopt);
    waiting.collective = row.id;
    waiting.link = *row.external_id;
    waiting.said = *said;
    waiting.isBad = facts->isBad;
    waiting.hasUnknownDatatype = facts->hasUnknownDatatype();
  }
  m_waiting.push_back(waiting);
}

// The operators of some may have come behind them; then theirs is the collective.
Status ChromeCollectives::settleWaiting() {
  std::vector<int64_t> dropped;
  for (const Waiting& one : m_waiting) {
    const auto known =
        linkOf(one.external, one.correlation, one.collective != 0 ? std::optional(one.said) : std::nullopt);
    if (known || m_alone.contains(one.correlation)) {
      if (one.collective != 0) dropped.push_back(one.collective);
      if (known) link(one.process, *known, one.correlation);
    } else if (one.collective == 0) {
      m_tally.count(Reason::CommunicationByName, one.offset);
    } else {
      if (one.isBad) m_tally.count(Reason::BadCollective, one.offset);
      if (one.hasUnknownDatatype) m_tally.count(Reason::UnknownDatatype, one.offset);
      link(one.process, one.link, one.correlation);
    }
  }
  m_waiting.clear();
  if (dropped.empty()) return Unit{};
  schema::Database& database = m_file.database();
  for (const char* table : {"collective WHERE id", "collective_detail WHERE collective_id"}) {
    auto drop = database.prepare(fmt::format("DELETE FROM {} = ?", table));
    if (!drop.ok()) return drop.error();
    for (const int64_t id : dropped) {
      drop.value().bind(id);
      if (!drop.value().run()) return Error{database.lastError()};
    }
  }
  return Unit{};
}

void ChromeCollectives::addCopy(int64_t process, int64_t correlation, int64_t external) {
  m_copies.push_back({process, correlation, external});
}

void ChromeCollectives::linkCopies() {
  std::vector<std::pair<const Copy*, int64_t>> alone;  // with the collective's link id
  for (const Copy& copy : m_copies) {
    const auto known = m_byExternal.find(copy.external);
    if (known == m_byExternal.end()) continue;
    const int64_t id = known->second.link;
    const auto kernel = m_linked.lower_bound({id, std::numeric_limits<int64_t>::min()});
    if (kernel == m_linked.end() || kernel->first != id) alone.emplace_back(&copy, id);
  }
  for (const auto& [copy, id] : alone) link(copy->process, id, copy->correlation);
}

void ChromeCollectives::link(int64_t process, int64_t external, int64_t correlation) {
  if (correlation == 0 || !m_linked.emplace(external, correlation).second) return;
  m_file.rows().insert(
      schema::CorrelationLinkRow{.process_id = process, .external_id = external, .correlation = correlation});
}

void ChromeCollectives::writeGroup(Group& group, std::optional<int64_t> rank) {
  const std::string ranks = group.ranks.empty() ? group.ranksText : fmt::format("[{}]", fmt::join(group.ranks, ", "));
  std::optional<int64_t> own;
  if (const auto at = std::find(group.ranks.begin(), group.ranks.end(), rank.value_or(-1)); at != group.ranks.end()) {
    own = at - group.ranks.begin();
  }
  if (!own && group.ranks.empty()) own = group.ownRank;
  m_file.rows().insert(schema::CommunicatorRow{
      .id = group.id,
      .process_id = group.process,
      .hash = groupHash(fmt::format("{}\n{}\n{}", group.name, group.description, ranks)),
      .name_id = group.name.empty()          ? std::nullopt
                 : group.description.empty() ? std::optional(m_file.textId(group.name))
                                             : std::optional(m_file.textId(group.name + ": " + group.description)),
      .n_ranks = group.size != 0 ? group.size : static_cast<int64_t>(group.ranks.size()),
      .rank = own.value_or(-1),
      .n_nodes = 0});  // the source does not say
  if (group.ranks.size() > kMostMembers) return;
  for (size_t i = 0; i < group.ranks.size(); ++i) {
    m_file.rows().replace(schema::CommunicatorMemberRow{
        .communicator_id = group.id, .position = static_cast<int64_t>(i), .rank = group.ranks[i]});
  }
}

Status ChromeCollectives::finish(int64_t process, std::optional<int64_t> rank, std::string_view groups) {
  if (Status settled = settleWaiting(); !settled.ok()) return settled;
  linkCopies();
  (void)readArray(groups, [&](const JsonValue& element) {
    Group declared;
    (void)readObject(element.text, [&](std::string_view key, const JsonValue& value) {
      if (key == "pg_name") declared.name = value.toText();
      if (key == "pg_desc") declared.description = value.toText();
      if (key == "pg_size") declared.size = std::clamp<int64_t>(value.toInteger().value_or(0), 0, kMostRanks);
      if (key == "ranks") declared.ranks = ranksOf(value.text);
    });
    bool isUsed = false;
    for (auto& [key, group] : m_groups) {
      if (group.name != declared.name) continue;
      isUsed = true;
      if (group.ranks.empty()) group.ranks = declared.ranks;
      if (group.description.empty()) group.description = declared.description;
    }
    if (isUsed || declared.name.empty()) return;
    declared.id = m_file.rows().nextId<schema::CommunicatorRow>();
    declared.process = process;
    m_groups.emplace("\n" + declared.name, std::move(declared));
  });
  for (auto& [key, group] : m_groups) writeGroup(group, rank);
  return Unit{};
}

}  // namespace plumb::import
