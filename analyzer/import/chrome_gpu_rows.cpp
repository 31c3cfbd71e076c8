// SPDX-License-Identifier: Apache-2.0
// The part of ChromeRows that knows work on the device.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/import/chrome_rows.h"

namespace plumb::import {
namespace {

constexpr int64_t kNoUsableTime = 1;  // event flag

// "stream 7" and 7
std::optional<int64_t> trailingNumber(std::string_view text) {
  const size_t blank = text.rfind(' ');
  if (blank != std::string_view::npos) text.remove_prefix(blank + 1);
  int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

std::array<int64_t, 3> threeOf(const JsonValue& value) {
  std::array<int64_t, 3> numbers{};
  size_t count = 0;
  if (value.kind != JsonKind::Array) return numbers;
  (void)readArray(value.text, [&](const JsonValue& element) {
    if (count < numbers.size()) numbers[count++] = element.toInteger().value_or(0);
  });
  return numbers;
}

struct CopyWords {
  std::string_view word;
  int64_t value;
};

int64_t valueOf(std::string_view text, const auto& words) {
  for (const CopyWords& known : words) {
    if (text.find(known.word) != std::string_view::npos) return known.value;
  }
  return 0;
}

// CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind by the words in "Memcpy HtoD (Pageable -> Device)".
constexpr std::array<CopyWords, 9> kCopyKinds = {{{"HtoD", 1},
                                                  {"DtoH", 2},
                                                  {"HtoA", 3},
                                                  {"AtoH", 4},
                                                  {"AtoA", 5},
                                                  {"AtoD", 6},
                                                  {"DtoA", 7},
                                                  {"DtoD", 8},
                                                  {"HtoH", 9}}};
constexpr std::array<CopyWords, 6> kMemoryKinds = {
    {{"Pageable", 1}, {"Pinned", 2}, {"Device", 3}, {"Array", 4}, {"Managed", 5}, {"Unified", 5}}};

int64_t copyKindOf(std::string_view name) {
  if (name.find("PtoP") != std::string_view::npos || name.find("Peer") != std::string_view::npos) return 10;
  return valueOf(name, kCopyKinds);
}

// What NCCL calls it, from what torch calls it.
std::string_view operationOf(std::string_view name) {
  struct Known {
    std::string_view part, operation;
  };
  static constexpr std::array<Known, 12> kKnown = {{{"reduce_scatter", "ReduceScatter"},
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
                                                    {"reduce", "Reduce"}}};
  for (const Known& known : kKnown) {
    if (name.find(known.part) != std::string_view::npos) return known.operation;
  }
  return name;
}

struct Datatype {
  std::string_view torch, nccl;
  int64_t bytes;
};
Datatype datatypeOf(std::string_view name) {
  static constexpr std::array<Datatype, 11> kTypes = {{{"Float", "ncclFloat32", 4},
                                                       {"Half", "ncclFloat16", 2},
                                                       {"BFloat16", "ncclBfloat16", 2},
                                                       {"Double", "ncclFloat64", 8},
                                                       {"Long", "ncclInt64", 8},
                                                       {"Int", "ncclInt32", 4},
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

}  // namespace

ChromeRows::Place ChromeRows::placeOf(const ChromeEvent& event) {
  std::optional<int64_t> ordinal, number;
  int64_t context = 0;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (key == "device") ordinal = value.toInteger();
    if (key == "stream") number = value.toInteger();
    if (key == "context") context = value.toInteger().value_or(0);
  });
  if (!ordinal) ordinal = trailingNumber(event.pid);
  if (!number) number = trailingNumber(event.tid);
  const int64_t process = m_registry.process(event.pid);
  const int64_t device = m_registry.device(process, ordinal.value_or(-1));
  return {process, device, m_registry.stream(process, device, number.value_or(-1), context)};
}

void ChromeRows::kernel(const ChromeEvent& event, const Times& times) {
  const Place place = placeOf(event);
  std::array<int64_t, 3> grid{}, block{};
  std::optional<int64_t> graph, node;
  int64_t correlation = 0, registers = 0, shared = 0;
  bool hasCollective = false, hasNotFinite = false;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (key == "correlation") correlation = value.toInteger().value_or(0);
    if (key == "grid") grid = threeOf(value);
    if (key == "block") block = threeOf(value);
    if (key == "registers per thread") registers = value.toInteger().value_or(0);
    if (key == "shared memory") shared = value.toInteger().value_or(0);
    if (key == "graph id") graph = value.toInteger();
    if (key == "graph node id") node = value.toInteger();
    hasCollective |= key == "Collective name";
    hasNotFinite |= value.kind == JsonKind::NotFinite;
  });
  if (graph == 0) graph.reset();  // not from a graph
  if (node == 0) node.reset();
  if (hasNotFinite) m_tally.count(Reason::NotFinite, m_offset);
  const std::string name = event.name.toText();
  const KernelNameIds names = m_file.kernelNameIds(name);
  m_file.rows().insert(schema::KernelRow{.id = m_file.rows().nextId<schema::KernelRow>(),
                                         .process_id = place.process,
                                         .device_id = place.device,
                                         .stream_id = place.stream,
                                         .start_ns = times.start,
                                         .duration_ns = times.duration,
                                         .name_id = names.full,
                                         .short_name_id = names.shortName,
                                         .mangled_name_id = names.mangled,
                                         .correlation = correlation,
                                         .grid_x = grid[0],
                                         .grid_y = grid[1],
                                         .grid_z = grid[2],
                                         .block_x = block[0],
                                         .block_y = block[1],
                                         .block_z = block[2],
                                         .registers_per_thread = registers,
                                         .static_shared_bytes = 0,  // the source gives the sum
                                         .dynamic_shared_bytes = shared,
                                         .local_bytes_per_thread = 0,
                                         .graph_id = graph,
                                         .graph_node_id = node,
                                         .flags = times.usable ? 0 : kNoUsableTime});
  // Only the library's kernels: the same metadata also comes on kernels that merely belong to a collective operator.
  if (hasCollective && isCommunicationName(name)) collective(event, times, place.process, correlation);
}

void ChromeRows::copy(const ChromeEvent& event, const Times& times) {
  const Place place = placeOf(event);
  const std::string name = event.name.toText();
  const size_t arrow = name.find("->");
  const std::string_view whole = name;
  int64_t correlation = 0, bytes = 0;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (key == "correlation") correlation = value.toInteger().value_or(0);
    if (key == "bytes") bytes = value.toInteger().value_or(0);
  });
  const bool hasKinds = arrow != std::string::npos;
  m_file.rows().insert(
      schema::MemoryCopyRow{.id = m_file.rows().nextId<schema::MemoryCopyRow>(),
                            .process_id = place.process,
                            .device_id = place.device,
                            .stream_id = place.stream,
                            .start_ns = times.start,
                            .duration_ns = times.duration,
                            .bytes = bytes,
                            .copy_kind = copyKindOf(whole.substr(0, whole.find('('))),
                            .source_kind = hasKinds ? valueOf(whole.substr(0, arrow), kMemoryKinds) : 0,
                            .target_kind = hasKinds ? valueOf(whole.substr(arrow), kMemoryKinds) : 0,
                            .is_async = 1,  // TraceCompletion asks the call
                            .correlation = correlation,
                            .graph_id = std::nullopt,
                            .graph_node_id = std::nullopt,
                            .flags = times.usable ? 0 : kNoUsableTime});
}

void ChromeRows::set(const ChromeEvent& event, const Times& times) {
  const Place place = placeOf(event);
  int64_t correlation = 0, bytes = 0;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (key == "correlation") correlation = value.toInteger().value_or(0);
    if (key == "bytes") bytes = value.toInteger().value_or(0);
  });
  m_file.rows().insert(schema::MemorySetRow{.id = m_file.rows().nextId<schema::MemorySetRow>(),
                                            .process_id = place.process,
                                            .device_id = place.device,
                                            .stream_id = place.stream,
                                            .start_ns = times.start,
                                            .duration_ns = times.duration,
                                            .bytes = bytes,
                                            .value = 0,  // the source does not say
                                            .memory_kind = valueOf(event.name.text, kMemoryKinds),
                                            .is_async = 1,
                                            .correlation = correlation,
                                            .graph_id = std::nullopt,
                                            .graph_node_id = std::nullopt,
                                            .flags = times.usable ? 0 : kNoUsableTime});
}

void ChromeRows::synchronization(const ChromeEvent& event, const Times& times) {
  static constexpr std::array<CopyWords, 6> kKinds = {{{"Stream Wait", 2},
                                                       {"Event Sync", 1},
                                                       {"Stream Sync", 3},
                                                       {"Context Sync", 4},
                                                       {"Device Sync", 4},
                                                       {"Event", 1}}};
  const int64_t process = m_registry.process(event.pid);
  std::optional<int64_t> waited, ordinal, number;
  int64_t correlation = 0, context = 0;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (key == "correlation") correlation = value.toInteger().value_or(0);
    if (key == "wait_on_cuda_event_id") waited = value.toInteger();
    if (key == "device") ordinal = value.toInteger();
    if (key == "stream") number = value.toInteger();
    if (key == "context") context = value.toInteger().value_or(0);
  });
  std::optional<int64_t> stream;
  constexpr int64_t kNoStream = 4294967295;  // CUPTI's, for a wait on the whole context
  if (number && *number >= 0 && *number < kNoStream) {
    const int64_t device = m_registry.device(process, ordinal ? *ordinal : trailingNumber(event.pid).value_or(-1));
    stream = m_registry.stream(process, device, *number, context);
  }
  m_file.rows().insert(schema::SynchronizationRow{.id = m_file.rows().nextId<schema::SynchronizationRow>(),
                                                  .process_id = process,
                                                  .stream_id = stream,
                                                  .start_ns = times.start,
                                                  .duration_ns = times.duration,
                                                  .kind = valueOf(event.name.text, kKinds),
                                                  .event_id = waited,
                                                  .correlation = correlation});
}

int64_t ChromeRows::communicator(int64_t process, const std::map<std::string, JsonValue, std::less<>>& facts) {
  const auto textOf = [&](std::string_view key) {
    const auto found = facts.find(key);
    return found == facts.end() ? std::string() : found->second.toText();
  };
  const auto size = facts.find("Group size");
  const std::string name = textOf("Process Group Name"), ranks = textOf("Process Group Ranks");
  const std::string identity = fmt::format("{}\n{}\n{}", name, textOf("Process Group Description"), ranks);
  int64_t& id = m_communicators[identity];
  if (id != 0) return id;
  id = m_file.rows().nextId<schema::CommunicatorRow>();
  const std::string_view shown = name;
  m_file.rows().insert(schema::CommunicatorRow{
      .id = id,
      .process_id = process,
      .hash = groupHash(identity),
      .name_id = shown.empty() ? std::optional<int64_t>() : std::optional<int64_t>(m_file.textId(shown)),
      .n_ranks = size == facts.end() ? 0 : size->second.toInteger().value_or(0),
      .rank = -1,    // the source does not say
      .n_nodes = 0,  // nor that
  });
  return id;
}

void ChromeRows::collective(const ChromeEvent& event, const Times& times, int64_t process, int64_t correlation) {
  std::map<std::string, JsonValue, std::less<>> facts;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) { facts.emplace(key, value); });
  const auto integer = [&](std::string_view key) {
    const auto found = facts.find(key);
    return found == facts.end() ? std::optional<int64_t>() : found->second.toInteger();
  };
  const std::string name = facts.find("Collective name")->second.toText();
  const std::string_view operation = operationOf(name);
  const auto dtype = facts.find("dtype");
  const std::string torchType = dtype == facts.end() ? std::string() : dtype->second.toText();
  const Datatype type = datatypeOf(torchType);
  const int64_t in = integer("In msg nelems").value_or(0), out = integer("Out msg nelems").value_or(0);
  // NCCL's convention: the whole gathered or scattered message, the larger of the two sides.
  const bool isWhole = operation == "AllGather" || operation == "ReduceScatter";
  const int64_t elements = isWhole ? std::max(in, out) : (in != 0 ? in : out);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, type.bytes, &bytes)) bytes = 0;
  const int64_t external = ++m_externalId;
  m_file.rows().insert(schema::CollectiveRow{.id = m_file.rows().nextId<schema::CollectiveRow>(),
                                             .process_id = process,
                                             .thread_id = 0,  // and the host's times: TraceCompletion finds the call
                                             .communicator_id = communicator(process, facts),
                                             .start_ns = times.start,
                                             .duration_ns = 0,
                                             .sequence = integer("Seq").value_or(-1),
                                             .operation_id = m_file.textId(operation),
                                             .datatype_id = m_file.textId(type.nccl),
                                             .element_count = operation == "ReduceScatter" ? std::min(in, out) : in,
                                             .bytes = bytes,
                                             .root = std::nullopt,
                                             .peer = operation == "Send"   ? integer("Dst Rank")
                                                     : operation == "Recv" ? integer("Src Rank")
                                                                           : std::nullopt,
                                             .algorithm_id = std::nullopt,
                                             .protocol_id = std::nullopt,
                                             .channels = std::nullopt,
                                             .stream_handle = std::nullopt,
                                             .external_id = external});
  m_file.rows().insert(
      schema::CorrelationLinkRow{.process_id = process, .external_id = external, .correlation = correlation});
}

}  // namespace plumb::import
