// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/import/losses.h"
#include "analyzer/import/nccl_names.h"
#include "analyzer/import/registry.h"
#include "analyzer/import/source_end.h"
#include "analyzer/import/stacks.h"
#include "analyzer/import/tally.h"

namespace plumb::import {
namespace {

constexpr LossReason kDamagedEntry = {
    false, true, "error", "damaged_event",
    "{0} [entry|entries] of {1} [is|are] damaged and left out; [it is|the first] at byte {2} of its data."};
constexpr LossReason kRepeated = {false, true, "error", "repeated",
                                  "{0} [entry|entries] of {1} [is a reference to one|are references to ones] that came "
                                  "before; [it is|they are] counted once; [it is|the first] at byte {2}."};
constexpr LossReason kNoTime = {
    true, false, "warning", "bad_time",
    "{0} [entry|entries] of {1} [has|have] no usable time; [it is|they are] stored at its beginning."};
constexpr LossReason kStatusWithoutGroup = {false, false, "info", "status_without_group",
                                            "{0} process [group|groups] of {1} [has|have] a status but no entry that "
                                            "tells which group it is of; [it is|they are] left out."};

constexpr int64_t kLatestNs = int64_t{1} << 61;
constexpr LossReason kBadSizes = {true, false, "warning", "bad_sizes",
                                  "{0} [entry|entries] of {1} [has|have] tensor sizes that cannot be: [its|their] "
                                  "elements and bytes are not known; [it is|the first] at byte {2} of its data."};
constexpr LossReason kUnknownDatatype = {
    true, false, "info", "unknown_datatype",
    "{0} [entry|entries] of {1} [has|have] a data type whose size is not known, so how many bytes [it moves|they move] "
    "is not; [it is|the first] at byte {2} of its data."};
constexpr int64_t kMostRanks = 1 << 20;
constexpr int64_t kMostElements = int64_t{1} << 50;

std::optional<int64_t> decimal(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "[0, 2, 5]", or an empty list for anything else.
std::vector<int64_t> ranksIn(std::string_view text) {
  std::vector<int64_t> ranks;
  for (size_t at = 0; at < text.size();) {
    const size_t digit = text.find_first_of("0123456789", at);
    if (digit == std::string_view::npos) break;
    if (digit > 0 && text[digit - 1] == '-') return {};
    const size_t end = std::min(text.find_first_not_of("0123456789", digit), text.size());
    const auto rank = decimal(text.substr(digit, end - digit));
    if (!rank || *rank >= kMostRanks || static_cast<int64_t>(ranks.size()) >= kMostRanks) return {};
    ranks.push_back(*rank);
    at = end;
  }
  return ranks;
}

// The dumps of all ranks are called alike but for the number at the end.
std::optional<int64_t> rankAtEnd(std::string name) {
  if (const size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  const size_t end = name.find_last_not_of("0123456789");
  const std::string digits = end == std::string::npos ? name : name.substr(end + 1);
  constexpr size_t kMostDigits = 6;
  return digits.size() <= kMostDigits ? decimal(digits) : std::nullopt;
}

// The same on every rank.
int64_t groupHash(std::string_view name, std::string_view ranks) {
  uint64_t hash = 14695981039346656037u;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    hash = (hash ^ 0xFF) * 1099511628211u;
  };
  mix(name);
  mix(ranks);
  return static_cast<int64_t>(hash);
}

class Dump {
 public:
  Dump(SourceContext& context, const PlainDocument& document)
      : m_context(context), m_document(document), m_registry(context.file, true), m_stacks(context.file, document) {}

  [[nodiscard]] SourceResult run(const DumpDamage& damage) {
    m_result.rank = m_context.rank ? m_context.rank : rankInName(m_context.name);
    if (!m_result.rank) m_result.rank = rankAtEnd(m_context.name);
    m_process = m_registry.process("0");
    m_registry.noteHostPid("0", HostSign::Call);
    m_registry.nameProcess("0", "flight recorder");
    m_result.events += damage.count;
    m_losses.count(kDamagedEntry, damage.first, damage.count);
    m_losses.count(kUnusableCharacters, m_document.firstMended(), m_document.mendedCharacters());
    const PlainValue& root = m_document.root();
    const PlainValue* entries = root.kind == PlainKind::List ? &root : m_document.find(root, "entries");
    readMembers();
    readGroups();
    if (entries) findOrigin(*entries);
    if (entries) readEntries(*entries);
    writeStatus();
    return finish();
  }

 private:
  struct Group {
    int64_t id = 0;  // of its communicator row
    int64_t ranks = 0;
    std::string description;
    bool hasStatus = false;
  };

  // A number, also one that is written as a text, as the JSON form does.
  [[nodiscard]] std::optional<int64_t> number(const PlainValue& dict, std::string_view key) const {
    const PlainValue* found = m_document.find(dict, key);
    if (!found) return std::nullopt;
    return found->kind == PlainKind::Text ? decimal(found->view()) : found->toInteger();
  }
  [[nodiscard]] std::optional<int64_t> timeOf(const PlainValue& entry, std::string_view key) const {
    const auto time = number(entry, key);
    return time && *time > 0 && *time < kLatestNs ? time : std::nullopt;
  }

  // What the dump says beside its entries and groups: versions are kept, the rank is used, the rest is named.
  void readMembers() {
    const auto items = m_document.items(m_document.root());
    if (m_document.root().kind != PlainKind::Dict) return;
    std::string unused;
    uint64_t unusedCount = 0;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const std::string_view key = items[i].view();
      if (key == "entries" || key == "pg_config" || key == "pg_status") continue;
      const PlainValue& value = items[i + 1];
      if (key == "rank") {
        const auto rank = number(m_document.root(), key);
        if (!m_result.rank && rank && *rank >= 0 && *rank < kMostRanks) m_result.rank = rank;
        continue;
      }
      const auto integer = value.toInteger();
      if (key.ends_with("version") && (!value.view().empty() || integer)) {
        const std::string text = value.view().empty() ? std::to_string(*integer) : std::string(value.view());
        m_context.file.rows().insert(
            schema::ProcessVariableRow{.process_id = m_process,
                                       .name_id = m_context.file.textId(fmt::format("trace.{}", key)),
                                       .value_id = m_context.file.textId(text)});
        continue;
      }
      constexpr size_t kMostText = 512;
      if (unused.size() < kMostText) unused += (unused.empty() ? "" : ", ") + std::string(key);
      ++unusedCount;
    }
    if (unusedCount == 0) return;
    writeDiagnostic(m_context.file, m_process, "info", "members_not_stored", unusedCount,
                    fmt::format("{} also holds {}, which is not stored.", m_context.name, unused));
  }

  void readGroups() {
    const PlainValue* config = m_document.find(m_document.root(), "pg_config");
    if (!config) return;
    const auto items = m_document.items(*config);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const PlainValue& facts = items[i + 1];
      const std::string_view name = items[i].view();
      if (name.empty() || facts.kind != PlainKind::Dict || m_document.isCut(facts)) continue;
      (void)group(name, m_document.text(facts, "desc"), m_document.text(facts, "ranks"));
    }
  }

  Group& group(std::string_view name, std::string_view description, std::string_view rankText) {
    const auto [entry, isNew] = m_groups.try_emplace(std::string(name));
    Group& made = entry->second;
    if (!isNew) return made;
    const std::vector<int64_t> ranks = ranksIn(rankText);
    made.ranks = static_cast<int64_t>(ranks.size());
    made.description = description;
    auto& rows = m_context.file.rows();
    made.id = rows.nextId<schema::CommunicatorRow>();
    const auto mine = m_result.rank ? std::find(ranks.begin(), ranks.end(), *m_result.rank) : ranks.end();
    const std::string label = description.empty() ? std::string(name) : fmt::format("{} {}", name, description);
    rows.insert(schema::CommunicatorRow{.id = made.id,
                                        .process_id = m_process,
                                        .hash = groupHash(name, rankText),
                                        .name_id = m_context.file.textId(label),
                                        .n_ranks = made.ranks,
                                        .rank = mine == ranks.end() ? -1 : mine - ranks.begin(),
                                        .n_nodes = 0});
    for (size_t i = 0; i < ranks.size(); ++i) {
      rows.insert(schema::CommunicatorMemberRow{
          .communicator_id = made.id, .position = static_cast<int64_t>(i), .rank = ranks[i]});
    }
    // World size: the group of all is the largest.
    m_result.worldSize = std::max(m_result.worldSize.value_or(0), made.ranks);
    return made;
  }

  void findOrigin(const PlainValue& entries) {
    std::optional<int64_t> first;
    for (const PlainValue& entry : m_document.items(entries)) {
      if (const auto time = timeOf(entry, "time_created_ns")) first = std::min(first.value_or(*time), *time);
    }
    m_isTimed = first.has_value();
    m_originNs = first.value_or(0);
  }

  void readEntries(const PlainValue& entries) {
    std::unordered_set<int64_t> seen;
    for (const PlainValue& entry : m_document.items(entries)) {
      ++m_result.events;
      const uint64_t offset = m_document.offset(entry);
      const bool isUsable = entry.kind == PlainKind::Dict && !m_document.isCut(entry) &&
                            !m_document.text(entry, "profiling_name").empty() &&
                            !m_document.text(entry, "state").empty();
      if (!isUsable) {
        m_losses.count(kDamagedEntry, offset);
      } else if (!seen.insert(PlainDocument::identity(entry)).second) {
        m_losses.count(kRepeated, offset);
      } else {
        store(entry);
      }
    }
  }

  Group& groupOf(const PlainValue& entry) {
    std::string_view name, description;
    const PlainValue* told = m_document.find(entry, "process_group");
    if (told && m_document.items(*told).size() >= 2) {
      name = m_document.items(*told)[0].view();
      description = m_document.items(*told)[1].view();
    } else if (told) {
      name = told->view();
    }
    const auto id = number(entry, "pg_id");
    const std::string fallback = id ? std::to_string(*id) : std::string("?");
    Group& found = group(name.empty() ? std::string_view(fallback) : name, description, {});
    if (id) m_groupOfId.emplace(*id, &found);
    return found;
  }

  struct Sizes {
    std::string text;
    int64_t elements = 0;  // of all tensors
    bool isBad = false;    // an extent cannot be, or there are too many elements
  };
  [[nodiscard]] Sizes sizesOf(const PlainValue& entry, std::string_view key) const {
    constexpr size_t kMostText = 256;
    Sizes sizes;
    const PlainValue* tensors = m_document.find(entry, key);
    if (!tensors) return sizes;
    bool fits = true;
    for (const PlainValue& tensor : m_document.items(*tensors)) {
      if (!tensor.isContainer()) continue;
      int64_t elements = 1;
      std::string text;
      for (const PlainValue& size : m_document.items(tensor)) {
        const auto told = size.toInteger();
        const int64_t extent = std::max<int64_t>(told.value_or(0), 0);
        sizes.isBad |= !told || *told < 0;
        fits &= !__builtin_mul_overflow(elements, extent, &elements);
        if (text.size() < kMostText) text += fmt::format("{}{}", text.empty() ? "" : "x", extent);
      }
      fits &= !__builtin_add_overflow(sizes.elements, elements, &sizes.elements);
      if (sizes.text.size() < kMostText) sizes.text += (sizes.text.empty() ? "" : " ") + (text.empty() ? "1" : text);
    }
    sizes.isBad |= !fits || sizes.elements > kMostElements;
    if (sizes.isBad) sizes.elements = 0;
    return sizes;
  }
  [[nodiscard]] std::string_view firstText(const PlainValue& entry, std::string_view key) const {
    const PlainValue* list = m_document.find(entry, key);
    return list && !m_document.items(*list).empty() ? m_document.items(*list).front().view() : std::string_view();
  }

  // "nccl:send 0->3", "nccl:recv 0<-3": the other one.
  [[nodiscard]] static std::optional<int64_t> peerIn(std::string_view name) {
    const size_t arrow = std::min(name.find("->"), name.find("<-"));
    if (arrow == std::string_view::npos) return std::nullopt;
    const auto peer = decimal(name.substr(arrow + 2));
    return peer && *peer >= 0 && *peer < kMostRanks ? peer : std::nullopt;
  }

  void store(const PlainValue& entry) {
    auto& rows = m_context.file.rows();
    auto& file = m_context.file;
    const std::string_view name = m_document.text(entry, "profiling_name");
    const std::string_view known = ncclOperation(name);
    const std::string_view operation = known.empty() ? name : known;
    Group& group = groupOf(entry);
    const bool isP2p = number(entry, "is_p2p").value_or(0) != 0;
    std::optional<int64_t> sequence = number(entry, "collective_seq_id");
    if (!sequence) sequence = number(entry, "seq_id");
    const auto created = timeOf(entry, "time_created_ns");
    if (!created) m_losses.count(kNoTime, m_document.offset(entry));
    const int64_t start = created ? *created - m_originNs : 0;
    m_lastNs = std::max(m_lastNs, start);
    const Sizes input = sizesOf(entry, "input_sizes"), output = sizesOf(entry, "output_sizes");
    const NcclDatatype type = ncclDatatype(firstText(entry, "input_dtypes"));
    if (input.isBad || output.isBad) m_losses.count(kBadSizes, m_document.offset(entry));
    if (type.bytes == 0 && input.elements > 0) m_losses.count(kUnknownDatatype, m_document.offset(entry));
    const bool isByReceived = operation == "Recv" || operation == "Scatter";  // only its root sends
    const int64_t id = rows.nextId<schema::CollectiveRow>();
    rows.insert(schema::CollectiveRow{
        .id = id,
        .process_id = m_process,
        .thread_id = thread(entry),
        .communicator_id = group.id,
        .start_ns = start,
        .duration_ns = 0,
        .sequence = isP2p ? -1 : sequence.value_or(-1),
        .operation_id = file.textId(operation),
        .datatype_id = file.textId(type.name),
        .element_count = operation == "ReduceScatter" ? output.elements : input.elements,
        .bytes = ncclBytes(operation, isByReceived ? output.elements : input.elements, type.bytes, group.ranks),
        .root = std::nullopt,
        .peer = isP2p ? peerIn(name) : std::nullopt,
        .algorithm_id = std::nullopt,
        .protocol_id = std::nullopt,
        .channels = std::nullopt,
        .stream_handle = std::nullopt,
        .external_id = std::nullopt});
    storeState(entry, id, name, isP2p, input.text, output.text);
  }

  void storeState(const PlainValue& entry, int64_t id, std::string_view name, bool isP2p, std::string_view input,
                  std::string_view output) {
    auto& rows = m_context.file.rows();
    const auto relative = [&](std::string_view key) -> std::optional<int64_t> {
      const auto time = timeOf(entry, key);
      if (!time || !m_isTimed) return std::nullopt;
      m_lastNs = std::max(m_lastNs, *time - m_originNs);
      return *time - m_originNs;
    };
    const auto timeoutMs = number(entry, "timeout_ms");
    constexpr int64_t kMostMs = kLatestNs / 1'000'000;
    const bool hasTimeout = timeoutMs && *timeoutMs >= 0 && *timeoutMs < kMostMs;
    const PlainValue* frames = m_document.find(entry, "frames");
    rows.insert(
        schema::CollectiveStateRow{.collective_id = id,
                                   .name_id = m_context.file.textId(name),
                                   .state = m_document.text(entry, "state"),
                                   .p2p_sequence = isP2p ? number(entry, "p2p_seq_id") : std::nullopt,
                                   .started_ns = relative("time_discovered_started_ns"),
                                   .completed_ns = relative("time_discovered_completed_ns"),
                                   .timeout_ns = hasTimeout ? std::optional(*timeoutMs * 1'000'000) : std::nullopt,
                                   .input_sizes_id = m_context.file.textId(input),
                                   .output_sizes_id = m_context.file.textId(output),
                                   .stack_id = m_stacks.idOf(frames)});
    const PlainValue* duration = m_document.find(entry, "duration_ms");
    const auto milliseconds = duration ? duration->toReal() : std::nullopt;
    if (milliseconds && *milliseconds > 0 && *milliseconds < static_cast<double>(kMostMs)) {
      rows.insert(schema::CollectiveTimingRow{.collective_id = id,
                                              .duration_ns = static_cast<int64_t>(*milliseconds * 1e6),
                                              .source = "cuda_events",
                                              .algbw_bytes_per_s = std::nullopt,
                                              .busbw_bytes_per_s = std::nullopt});
    }
  }

  int64_t thread(const PlainValue& entry) {
    const PlainValue* told = m_document.find(entry, "thread_id");
    std::string tid = "0";
    if (told)
      tid = told->kind == PlainKind::Text ? std::string(told->view()) : std::to_string(told->toInteger().value_or(0));
    const int64_t id = m_registry.thread(m_process, "0", tid);
    if (const auto name = m_document.text(entry, "thread_name"); !name.empty()) {
      m_registry.nameThread("0", tid, std::string(name));
    }
    return id;
  }

  // Statuses are by a number of the process, which entries tie to the group's name.
  void writeStatus() {
    const PlainValue* all = m_document.find(m_document.root(), "pg_status");
    const auto items = all ? m_document.items(*all) : std::span<const PlainValue>();
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const PlainValue& status = items[i + 1];
      const auto id = items[i].kind == PlainKind::Text ? decimal(items[i].view()) : items[i].toInteger();
      const auto found = id ? m_groupOfId.find(*id) : m_groupOfId.end();
      if (found == m_groupOfId.end() || status.kind != PlainKind::Dict || found->second->hasStatus) {
        m_losses.count(kStatusWithoutGroup, 0);
        ++m_result.events;
        continue;
      }
      found->second->hasStatus = true;
      const auto told = [&](std::string_view key) -> std::optional<int64_t> {
        const auto value = number(status, key);
        return value && *value >= 0 ? value : std::nullopt;  // -1: none yet, or not counted
      };
      ++m_result.events;
      const auto name = std::find_if(m_groups.begin(), m_groups.end(),
                                     [&](const auto& entry) { return &entry.second == found->second; });
      m_context.file.rows().insert(
          schema::CommunicatorStateRow{.communicator_id = found->second->id,
                                       .name_id = m_context.file.textId(name->first),
                                       .description_id = m_context.file.textId(found->second->description),
                                       .last_enqueued = told("last_enqueued_collective"),
                                       .last_started = told("last_started_collective"),
                                       .last_completed = told("last_completed_collective")});
    }
    writeGroupsWithoutStatus();
  }

  void writeGroupsWithoutStatus() {
    for (const auto& [name, group] : m_groups) {
      if (group.hasStatus) continue;
      m_context.file.rows().insert(
          schema::CommunicatorStateRow{.communicator_id = group.id,
                                       .name_id = m_context.file.textId(name),
                                       .description_id = m_context.file.textId(group.description),
                                       .last_enqueued = std::nullopt,
                                       .last_started = std::nullopt,
                                       .last_completed = std::nullopt});
    }
  }

  [[nodiscard]] SourceResult finish() {
    finishSource(m_context, m_registry, m_losses,
                 {.process = m_process,
                  .originNs = m_isTimed ? std::optional(m_originNs) : std::nullopt,
                  .lastNs = m_lastNs,
                  .problem = m_document.problem()},
                 m_result);
    if (!m_result.rank) {
      const std::string message =
          fmt::format("The rank of {} is not known, so its part in the collectives is not: name the ranks with --rank.",
                      m_context.name);
      writeDiagnostic(m_context.file, m_process, "warning", "rank_unknown", 1, message);
      m_result.warnings.push_back(message);
    }
    return std::move(m_result);
  }

  SourceContext& m_context;
  const PlainDocument& m_document;
  Registry m_registry;
  Stacks m_stacks;
  Losses m_losses;
  SourceResult m_result;
  std::map<std::string, Group> m_groups;
  std::map<int64_t, Group*> m_groupOfId;
  int64_t m_process = 0, m_originNs = 0, m_lastNs = 0;
  bool m_isTimed = false;
};

}  // namespace

bool isFlightRecorderDump(const PlainDocument& document) {
  const PlainValue& root = document.root();
  if (document.find(root, "entries") || document.find(root, "pg_config") || document.find(root, "pg_status"))
    return true;
  if (root.kind != PlainKind::List || document.items(root).empty()) return false;
  return document.find(document.items(root).front(), "profiling_name") != nullptr;
}

Result<SourceResult> readFlightRecorderDump(SourceContext& context, const PlainDocument& document,
                                            const DumpDamage& damage) {
  SourceResult result = Dump(context, document).run(damage);
  if (result.events == result.notStored && document.problem()) {
    return Error{
        fmt::format("{} holds no entry of a flight recorder that can be read: {}.", context.path, *document.problem())};
  }
  return result;
}

}  // namespace plumb::import
