// SPDX-License-Identifier: Apache-2.0
// The part of ChromeRows that knows work on the device.
#include <array>
#include <charconv>
#include <cmath>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/import/chrome_rows.h"
#include "collector/schema/event_flags.h"

namespace plumb::import {
namespace {

// Event flags.
using schema::kFromGraph;
using schema::kNoUsableTime;

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

// CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind by the words in "Memcpy HtoD (Pageable -> Device)". ROCm's
// tracers write "CopyHostToDevice" or "MEMORY_COPY_HOST_TO_DEVICE"; on XPUs M is the system's memory and S shared
// memory, "Memcpy M2D (MEMORY -> DEVICE)".
constexpr std::array<CopyWords, 26> kCopyKinds = {{{"HtoD", 1},
                                                   {"DtoH", 2},
                                                   {"HtoA", 3},
                                                   {"AtoH", 4},
                                                   {"AtoA", 5},
                                                   {"AtoD", 6},
                                                   {"DtoA", 7},
                                                   {"DtoD", 8},
                                                   {"HtoH", 9},
                                                   {"HostToDevice", 1},
                                                   {"DeviceToHost", 2},
                                                   {"DeviceToDevice", 8},
                                                   {"HostToHost", 9},
                                                   {"HOST_TO_DEVICE", 1},
                                                   {"DEVICE_TO_HOST", 2},
                                                   {"DEVICE_TO_DEVICE", 8},
                                                   {"HOST_TO_HOST", 9},
                                                   {"M2D", 1},
                                                   {"H2D", 1},
                                                   {"S2D", 1},
                                                   {"D2M", 2},
                                                   {"D2H", 2},
                                                   {"D2S", 2},
                                                   {"D2D", 8},
                                                   {"H2M", 9},
                                                   {"M2H", 9}}};
constexpr std::array<CopyWords, 10> kMemoryKinds = {{{"Pageable", 1},
                                                     {"Pinned", 2},
                                                     {"Device", 3},
                                                     {"Array", 4},
                                                     {"Managed", 5},
                                                     {"Unified", 5},
                                                     // XPU's: what no runtime allocated, and what SYCL did.
                                                     {"MEMORY", 1},
                                                     {"HOST", 2},
                                                     {"DEVICE", 3},
                                                     {"SHARED", 5}}};

int64_t copyKindOf(std::string_view name) {
  if (name.find("PtoP") != std::string_view::npos || name.find("Peer") != std::string_view::npos) return 10;
  return valueOf(name, kCopyKinds);
}

}  // namespace

bool ChromeRows::Work::take(std::string_view key, const JsonValue& value) {
  if (key == "correlation") {
    correlation = value.toInteger().value_or(0);
  } else if (key == "External id" || key == "external id") {
    external = value.toInteger();
  } else if (key == "stream") {
    number = value.toInteger();
  } else if (key == "device") {
    ordinal = value.toInteger();
  } else if (key == "context") {
    context = value.toInteger().value_or(0);
  } else {
    return false;
  }
  return true;
}

ChromeRows::Place ChromeRows::placeOf(const ChromeEvent& event, const Work& work) {
  std::optional<int64_t> ordinal = work.ordinal, number = work.number;
  if (event.pid == kLegacyGpuPid) {
    ordinal = trailingNumber(event.tid);
    number = 0;  // streams are not told apart
  }
  if (!ordinal) ordinal = trailingNumber(event.pid);
  if (!number) number = trailingNumber(event.tid);
  if (!ordinal || !number) m_tally.count(Reason::NoPlace, m_offset);
  if (event.name.kind == JsonKind::Null || event.name.text.empty()) m_tally.count(Reason::NoGpuName, m_offset);
  const int64_t process = m_registry.process(event.pid);
  const int64_t device = m_registry.device(process, ordinal.value_or(-1));
  return {process, device, m_registry.stream(process, device, number.value_or(-1), work.context)};
}

void ChromeRows::noteWork(const ChromeEvent& event, const char* table, int64_t id, const Times& times,
                          const Place& place, const Work& work) {
  if (work.correlation == 0) return m_flows.noteUncorrelated(table, id, event, times.start, work.external);
  m_flows.noteCorrelated();
  m_operators.addWork(place.process, work.correlation, work.external);
}

GpuWorkColumns ChromeRows::columnsOf(const Place& place, const Times& times, const Work& work) {
  return {place.process,
          place.device,
          place.stream,
          times.start,
          times.duration,
          work.correlation,
          times.usable ? 0 : kNoUsableTime};
}

void ChromeRows::kernel(const ChromeEvent& event, const Times& times) {
  Work work;
  std::array<int64_t, 3> grid{}, block{};
  std::optional<int64_t> graph, node;
  int64_t registers = 0, shared = 0;
  bool hasNotFinite = false;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    hasNotFinite |= value.kind == JsonKind::NotFinite;
    if (work.take(key, value)) return;
    if (key == "grid") grid = threeOf(value);
    if (key == "block") block = threeOf(value);
    if (key == "registers per thread") registers = value.toInteger().value_or(0);
    if (key == "shared memory") shared = value.toInteger().value_or(0);
    if (key == "graph id") graph = value.toInteger();
    if (key == "graph node id") node = value.toInteger();
  });
  const Place place = placeOf(event, work);
  if (graph == 0) graph.reset();  // not from a graph
  if (node == 0) node.reset();
  if (hasNotFinite) m_tally.count(Reason::NotFinite, m_offset);
  const KernelNameIds names = m_file.kernelNameIds(event.name);
  const int64_t id = m_file.rows().nextId<schema::KernelRow>();
  auto row = gpuRow<schema::KernelRow>(id, columnsOf(place, times, work));
  row.name_id = names.full;
  row.short_name_id = names.shortName;
  row.mangled_name_id = names.mangled;
  row.grid_x = grid[0];
  row.grid_y = grid[1];
  row.grid_z = grid[2];
  row.block_x = block[0];
  row.block_y = block[1];
  row.block_z = block[2];
  row.registers_per_thread = registers;
  row.dynamic_shared_bytes = shared;  // with the static part: the source gives the sum
  row.graph_id = graph;
  row.graph_node_id = node;
  if (graph) row.flags |= kFromGraph;
  m_file.rows().insert(row);
  noteWork(event, "kernel", id, times, place, work);
  // Only the library's kernels: the same metadata also comes on kernels that merely belong to a collective operator.
  const auto [isCommunication, isNew] = m_isCommunication.try_emplace(names.full);
  if (isNew) isCommunication->second = isCommunicationName(event.name.text);
  if (!isCommunication->second) return;
  m_collectives.addKernel(event, place.process, times.start, work.correlation, work.external, m_offset);
}

int64_t ChromeRows::sizeIn(const JsonValue& value) {
  constexpr int64_t kMostBytes = int64_t{1} << 50;
  const auto bytes = value.toInteger();
  if (bytes && *bytes >= 0 && *bytes <= kMostBytes) return *bytes;
  m_tally.count(Reason::BadSize, m_offset);
  return 0;
}

ChromeRows::Moved ChromeRows::movedBy(const ChromeEvent& event, const Times& times) {
  Moved moved;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (moved.work.take(key, value)) return;
    if (key == "bytes") moved.bytes = sizeIn(value);
    if (key == "memory bandwidth (GB/s)") moved.bandwidth = value.toReal();
  });
  // Stored only where it says more than the row.
  constexpr double kPrinted = 1e-9;
  const double computed =
      times.duration > 0 ? static_cast<double>(moved.bytes) / static_cast<double>(times.duration) : 0;
  if (moved.bandwidth && (!std::isfinite(*moved.bandwidth) || *moved.bandwidth < 0 ||
                          std::abs(*moved.bandwidth - computed) <= kPrinted * computed)) {
    moved.bandwidth.reset();
  }
  return moved;
}

void ChromeRows::copy(const ChromeEvent& event, const Times& times) {
  const auto [work, bytes, bandwidth] = movedBy(event, times);
  const Place place = placeOf(event, work);
  const std::string_view whole = event.name.text;
  const size_t arrow = whole.find("->");
  const int64_t id = m_file.rows().nextId<schema::MemoryCopyRow>();
  const bool hasKinds = arrow != std::string_view::npos;
  auto row = gpuRow<schema::MemoryCopyRow>(id, columnsOf(place, times, work));
  row.bytes = bytes;
  row.copy_kind = copyKindOf(whole.substr(0, whole.find('(')));
  row.source_kind = hasKinds ? valueOf(whole.substr(0, arrow), kMemoryKinds) : 0;
  row.target_kind = hasKinds ? valueOf(whole.substr(arrow), kMemoryKinds) : 0;
  row.is_async = 1;  // TraceCompletion asks the call
  m_file.rows().insert(row);
  if (bandwidth) {
    m_file.rows().insert(schema::MemoryCopyBandwidthRow{.memory_copy_id = id, .gb_per_s = *bandwidth});
  }
  noteWork(event, "memory_copy", id, times, place, work);
  constexpr int64_t kDeviceToDevice = 8, kPeerToPeer = 10;
  const bool isOnDevices = row.copy_kind == kDeviceToDevice || row.copy_kind == kPeerToPeer;
  if (isOnDevices && work.external && *work.external != work.correlation) {
    m_collectives.addCopy(place.process, work.correlation, *work.external);
  }
}

void ChromeRows::set(const ChromeEvent& event, const Times& times) {
  const auto [work, bytes, bandwidth] = movedBy(event, times);
  const Place place = placeOf(event, work);
  const int64_t id = m_file.rows().nextId<schema::MemorySetRow>();
  auto row = gpuRow<schema::MemorySetRow>(id, columnsOf(place, times, work));
  row.bytes = bytes;
  row.memory_kind = valueOf(event.name.text, kMemoryKinds);
  row.is_async = 1;
  m_file.rows().insert(row);
  if (bandwidth) m_file.rows().insert(schema::MemorySetBandwidthRow{.memory_set_id = id, .gb_per_s = *bandwidth});
  noteWork(event, "memory_set", id, times, place, work);
}

void ChromeRows::synchronization(const ChromeEvent& event, const Times& times) {
  // As CUPTI's by CUDA's names; on XPUs the name is that of the call, and an argument says the kind.
  static constexpr std::array<CopyWords, 10> kKinds = {{{"HOST_EVENT", 1},
                                                        {"HOST_COMMAND", 3},
                                                        {"HOST_FENCE", 3},
                                                        {"GPU_BARRIER", 2},
                                                        {"Stream Wait", 2},
                                                        {"Event Sync", 1},
                                                        {"Stream Sync", 3},
                                                        {"Context Sync", 4},
                                                        {"Device Sync", 4},
                                                        {"Event", 1}}};
  const int64_t process = m_registry.process(event.pid);
  Work work;
  std::optional<int64_t> waited, recordedStream, recorded;
  std::string_view ofXpu;
  event.forEachArgument([&](std::string_view key, const JsonValue& value) {
    if (work.take(key, value)) return;
    if (key == "Type" && value.kind == JsonKind::String) ofXpu = value.text;
    if (key == "wait_on_cuda_event_id") waited = value.toInteger();
    if (key == "wait_on_stream") recordedStream = value.toInteger();
    if (key == "wait_on_cuda_event_record_corr_id") recorded = value.toInteger();
  });
  const auto streamOf = [&](std::optional<int64_t> number) -> std::optional<int64_t> {
    constexpr int64_t kNoStream = 4294967295;  // CUPTI's, for a wait on the whole context
    if (!number || *number < 0 || *number >= kNoStream) return std::nullopt;
    const int64_t ordinal = work.ordinal ? *work.ordinal : trailingNumber(event.pid).value_or(-1);
    return m_registry.stream(process, m_registry.device(process, ordinal), *number, work.context);
  };
  const int64_t id = m_file.rows().nextId<schema::SynchronizationRow>();
  m_file.rows().insert(schema::SynchronizationRow{.id = id,
                                                  .process_id = process,
                                                  .stream_id = streamOf(work.number),
                                                  .start_ns = times.start,
                                                  .duration_ns = times.duration,
                                                  .kind = valueOf(ofXpu.empty() ? event.name.text : ofXpu, kKinds),
                                                  .event_id = waited,
                                                  .correlation = work.correlation});
  if (recorded && *recorded <= 0) recorded.reset();
  const std::optional<int64_t> recordedId = streamOf(recordedStream);
  if (!recordedId && !recorded) return;
  m_file.rows().insert(schema::SynchronizationEventRow{
      .synchronization_id = id, .recorded_stream_id = recordedId, .recorded_correlation = recorded});
}

}  // namespace plumb::import
