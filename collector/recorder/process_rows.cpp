// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/process_rows.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "collector/recorder/safe_math.h"
#include "collector/schema/collective_names.h"

namespace plumb::recorder {

namespace {

// Further outside of the recording than any late delivery, or clock error: what is delivered has happened, so only a
// wrong clock puts it after now.
constexpr int64_t kPlausibleBeforeNs = 24 * 3600 * int64_t{1'000'000'000};
constexpr int64_t kPlausibleAfterNs = 5 * int64_t{1'000'000'000};

template <class T>
std::optional<int64_t> unlessZero(T value) {
  return value == 0 ? std::nullopt : std::optional<int64_t>(identity(value));
}

std::optional<int64_t> unlessNegative(int32_t value) {
  return value < 0 ? std::nullopt : std::optional<int64_t>(value);
}

std::string_view spaceName(MemorySpace space) {
  switch (space) {
    case MemorySpace::kPageable:
      return "pageable";
    case MemorySpace::kPinned:
      return "pinned";
    case MemorySpace::kDevice:
      return "device";
    case MemorySpace::kManaged:
      return "managed";
    case MemorySpace::kDeviceStatic:
      return "device_static";
    case MemorySpace::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view severityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      break;
  }
  return "error";
}

std::string_view rangeKindName(RangeKind kind) {
  switch (kind) {
    case RangeKind::kStartEnd:
      return "start_end";
    case RangeKind::kMark:
      return "mark";
    case RangeKind::kPushPop:
      break;
  }
  return "push_pop";
}

}  // namespace

ProcessRows::ProcessRows(Session& session, int64_t processId)
    : m_session(session),
      m_processId(processId),
      m_strings(session.strings),
      m_clock(session.startMonotonicNs, session.startRealtimeNs),
      m_entities(processId, session.writer, m_strings, session.roofs) {}

void ProcessRows::acceptUnknown() noexcept {
  m_acceptUnknown = true;
  m_strings.acceptUnknown(true);
}

template <class DeviceEvent>
ProcessRows::Time ProcessRows::deviceTime(const DeviceEvent& event) {
  Time time;
  time.flags = event.flags & (kEventNoTime | kEventFromGraph);
  if (event.header.clock == Clock::kCupti && !m_clock.hasPairs()) m_problems.add(Problem::kNoClockPair);
  if (event.start_ns > 0) time.startNs = sessionTime(event.header, event.start_ns);
  const bool plausible = event.start_ns > 0 && event.end_ns >= event.start_ns && time.startNs > -kPlausibleBeforeNs &&
                         time.startNs < m_nowNs + kPlausibleAfterNs;
  if (!plausible || (time.flags & kEventNoTime) != 0) {
    time.flags |= kEventNoTime;
    m_problems.add(Problem::kBadTime);
    return time;
  }
  time.durationNs = std::max<int64_t>(saturatingSubtract(sessionTime(event.header, event.end_ns), time.startNs), 0);
  return time;
}

template <class HostEvent>
ProcessRows::Time ProcessRows::hostTime(const HostEvent& event) {
  Time time;
  time.startNs = sessionTime(event.header, event.start_ns);
  time.durationNs = saturatingSubtract(sessionTime(event.header, event.end_ns), time.startNs);
  if (time.durationNs < 0) {
    time.durationNs = 0;
    m_problems.add(Problem::kBadDuration);
  }
  return time;
}

double ProcessRows::number(double value) noexcept {
  if (std::isfinite(value)) return value;
  m_problems.add(Problem::kNotANumber);
  return 0;
}

bool ProcessRows::store(const KernelRecord& record) {
  const auto names = m_strings.findKernel(record.name);
  if (!names) return false;
  const Time time = deviceTime(record);
  m_session.writer.insert(
      KernelRow{.id = m_session.writer.nextId<KernelRow>(),
                .process_id = m_processId,
                .device_id = m_entities.device(record.device_ordinal),
                .stream_id = m_entities.stream(record.context, record.stream, record.device_ordinal),
                .start_ns = time.startNs,
                .duration_ns = time.durationNs,
                .name_id = names->demangled,
                .short_name_id = names->shortName,
                .mangled_name_id = names->mangled,
                .correlation = record.correlation,
                .grid_x = record.grid[0],
                .grid_y = record.grid[1],
                .grid_z = record.grid[2],
                .block_x = record.block[0],
                .block_y = record.block[1],
                .block_z = record.block[2],
                .registers_per_thread = record.registers_per_thread,
                .static_shared_bytes = record.static_shared_bytes,
                .dynamic_shared_bytes = record.dynamic_shared_bytes,
                .local_bytes_per_thread = record.local_bytes_per_thread,
                .graph_id = unlessZero(record.graph_id),
                .graph_node_id = unlessZero(record.graph_node_id),
                .flags = time.flags});
  return true;
}

bool ProcessRows::store(const MemoryCopyRecord& record) {
  const Time time = deviceTime(record);
  m_session.writer.insert(
      MemoryCopyRow{.id = m_session.writer.nextId<MemoryCopyRow>(),
                    .process_id = m_processId,
                    .device_id = m_entities.device(record.device_ordinal),
                    .stream_id = m_entities.stream(record.context, record.stream, record.device_ordinal),
                    .start_ns = time.startNs,
                    .duration_ns = time.durationNs,
                    .bytes = quantity(record.bytes),
                    .copy_kind = record.copy_kind,
                    .source_kind = record.source_kind,
                    .target_kind = record.target_kind,
                    .is_async = record.is_async != 0,
                    .correlation = record.correlation,
                    .graph_id = unlessZero(record.graph_id),
                    .graph_node_id = unlessZero(record.graph_node_id),
                    .flags = time.flags});
  return true;
}

bool ProcessRows::store(const MemorySetRecord& record) {
  const Time time = deviceTime(record);
  m_session.writer.insert(
      MemorySetRow{.id = m_session.writer.nextId<MemorySetRow>(),
                   .process_id = m_processId,
                   .device_id = m_entities.device(record.device_ordinal),
                   .stream_id = m_entities.stream(record.context, record.stream, record.device_ordinal),
                   .start_ns = time.startNs,
                   .duration_ns = time.durationNs,
                   .bytes = quantity(record.bytes),
                   .value = record.value,
                   .memory_kind = record.memory_kind,
                   .is_async = record.is_async != 0,
                   .correlation = record.correlation,
                   .graph_id = unlessZero(record.graph_id),
                   .graph_node_id = unlessZero(record.graph_node_id),
                   .flags = time.flags});
  return true;
}

bool ProcessRows::store(const ApiCallRecord& record) {
  const auto name = m_strings.find(record.name);
  if (!name) return false;
  const Time time = hostTime(record);
  m_session.writer.insert(ApiCallRow{.id = m_session.writer.nextId<ApiCallRow>(),
                                     .process_id = m_processId,
                                     .thread_id = m_entities.thread(record.header.tid),
                                     .start_ns = time.startNs,
                                     .duration_ns = time.durationNs,
                                     .name_id = *name,
                                     .layer = record.layer == 0 ? "runtime" : "driver",
                                     .correlation = record.correlation,
                                     .result = record.result});
  return true;
}

bool ProcessRows::store(const SynchronizationRecord& record) {
  const Time time = hostTime(record);
  std::optional<int64_t> streamId;
  if (record.stream != UINT32_MAX) streamId = m_entities.stream(record.context, record.stream, std::nullopt);
  m_session.writer.insert(SynchronizationRow{.id = m_session.writer.nextId<SynchronizationRow>(),
                                             .process_id = m_processId,
                                             .stream_id = streamId,
                                             .start_ns = time.startNs,
                                             .duration_ns = time.durationNs,
                                             .kind = record.kind,
                                             .event_id = unlessZero(record.event_id),
                                             .correlation = record.correlation});
  return true;
}

bool ProcessRows::store(const CorrelationLinkRecord& record) {
  m_session.writer.insert(CorrelationLinkRow{
      .process_id = m_processId, .external_id = identity(record.external_id), .correlation = record.correlation});
  return true;
}

bool ProcessRows::store(const LibraryCallRecord& record) {
  const auto name = m_strings.find(record.name);
  const auto a = m_strings.find(record.datatype_a);
  const auto b = m_strings.find(record.datatype_b);
  const auto c = m_strings.find(record.datatype_c);
  const auto compute = m_strings.find(record.compute_type);
  if (!name || !a || !b || !c || !compute) return false;
  const Time time = hostTime(record);
  m_session.writer.insert(LibraryCallRow{.id = m_session.writer.nextId<LibraryCallRow>(),
                                         .process_id = m_processId,
                                         .thread_id = m_entities.thread(record.header.tid),
                                         .start_ns = time.startNs,
                                         .duration_ns = time.durationNs,
                                         .name_id = *name,
                                         .m = record.m,
                                         .n = record.n,
                                         .k = record.k,
                                         .batch = record.batch,
                                         .transpose_a = record.transpose_a,
                                         .transpose_b = record.transpose_b,
                                         .datatype_a_id = *a,
                                         .datatype_b_id = *b,
                                         .datatype_c_id = *c,
                                         .compute_type_id = *compute,
                                         .flops = number(record.flops),
                                         .bytes = number(record.bytes),
                                         .external_id = identity(record.external_id)});
  return true;
}

bool ProcessRows::store(const CounterSampleRecord& record) {
  const auto name = m_strings.find(record.name);
  if (!name) return false;
  if (std::isnan(record.value)) {  // SQLite has none
    m_problems.add(Problem::kNotANumber);
    return true;
  }
  m_session.writer.insert(CounterSampleRow{.process_id = m_processId,
                                           .start_ns = sessionTime(record.header, record.time_ns),
                                           .name_id = *name,
                                           .value = record.value});
  return true;
}

bool ProcessRows::store(const ClockPairRecord& record) {
  if (m_clock.addPair(record.monotonic_ns, record.cupti_ns) == ClockMap::Added::kJump) {
    m_problems.add(Problem::kClockJump);
  }
  m_session.writer.insert(
      ClockPairRow{.process_id = m_processId,
                   .monotonic_ns = record.monotonic_ns,
                   .realtime_ns = record.realtime_ns,
                   .cupti_ns = record.cupti_ns == 0 ? std::nullopt : std::optional<int64_t>(record.cupti_ns)});
  return true;
}

bool ProcessRows::store(const PluginRecord& record) {
  const auto name = m_strings.find(record.name);
  const auto version = m_strings.find(record.version);
  const auto library = m_strings.find(record.library);
  if (!name || !version || !library) return false;
  PluginRow row{.process_id = m_processId,
                .name = m_strings.text(*name),
                .version = m_strings.text(*version),
                .library = {},
                .state = record.is_on != 0 ? "on" : "off"};
  if (record.library != 0) row.library = m_strings.text(*library);
  m_session.writer.insert(row);
  return true;
}

bool ProcessRows::store(const DiagnosticRecord& record) {
  const auto lane = m_strings.find(record.lane);
  const auto code = m_strings.find(record.code);
  const auto message = m_strings.find(record.message);
  if (!lane || !code || !message) return false;
  m_session.writer.insert(DiagnosticRow{.id = m_session.writer.nextId<DiagnosticRow>(),
                                        .process_id = m_processId,
                                        .start_ns = sessionTime(record.header, record.time_ns),
                                        .severity = severityName(record.severity),
                                        .lane = m_strings.text(*lane),
                                        .code = m_strings.text(*code),
                                        .count = quantity(record.count),
                                        .message = m_strings.text(*message)});
  return true;
}

bool ProcessRows::store(const CompletedRange& range) {
  const auto domain = m_strings.find(range.domain);
  const auto name = m_strings.find(range.name);
  const auto category = m_strings.find(range.category);
  if (!domain || !name || !category) return false;
  RangeRow row{.id = range.id,
               .process_id = m_processId,
               .thread_id = m_entities.thread(range.tid),
               .end_thread_id = {},
               .start_ns = range.startNs,
               .duration_ns = {},
               .kind = rangeKindName(range.kind),
               .depth = range.depth,
               .parent_id = unlessZero(range.parentId),
               .domain_id = *domain,
               .name_id = *name,
               .category_id = {},
               .color_argb = unlessZero(range.colorArgb)};
  if (range.category != 0) row.category_id = *category;
  if (range.endTid != range.tid) row.end_thread_id = m_entities.thread(range.endTid);
  if (range.endNs) row.duration_ns = saturatingSubtract(*range.endNs, range.startNs);
  m_session.writer.insert(row);
  return true;
}

bool ProcessRows::store(const RangePayload& payload) {
  const auto name = m_strings.find(payload.field.name);
  const auto text = payload.field.type == FieldType::kText ? m_strings.find(payload.field.text) : 0;
  if (!name || !text) return false;
  Value value = payload.field.integer;
  if (payload.field.type == FieldType::kText) value = std::string_view(m_strings.text(*text));
  if (payload.field.type == FieldType::kReal) {
    value = payload.field.real;
    if (std::isnan(payload.field.real)) value = std::string_view("nan");
  }
  m_session.writer.insert(RangePayloadRow{.range_id = payload.rangeId, .name_id = *name, .value = value});
  return true;
}

int64_t ProcessRows::collectiveBytes(const CollectiveRecord& call, const std::optional<Entities::Communicator>& of,
                                     int64_t operationId, int64_t datatypeId) {
  const uint64_t elementBytes = datatypeBytes(m_strings.text(datatypeId));
  if (elementBytes == 0) m_problems.add(Problem::kUnknownDatatype);
  __int128 bytes = static_cast<__int128>(call.element_count) * elementBytes;
  if (countsAllRanks(m_strings.text(operationId))) {
    if (of) {
      bytes *= std::max(of->rankCount, 1);
    } else {
      m_problems.add(Problem::kUnknownCommunicator);
    }
  }
  return saturate(bytes);
}

bool ProcessRows::store(const CompletedCollective& collective) {
  const CollectiveRecord& call = collective.call;
  const CollectiveDetailRecord detail = collective.detail.value_or(CollectiveDetailRecord{});
  const auto operation = m_strings.find(call.operation);
  const auto datatype = m_strings.find(call.datatype);
  const auto algorithm = m_strings.find(detail.algorithm);
  const auto protocol = m_strings.find(detail.protocol);
  if (!operation || !datatype || !algorithm || !protocol) return false;
  const auto communicator = m_entities.communicator(call.communicator_hash);
  if (!communicator && call.communicator_hash != 0 && !m_acceptUnknown) return false;
  if (!collective.detail) m_problems.add(Problem::kIncompleteCollective);
  const Time time = hostTime(call);
  CollectiveRow row{.id = m_session.writer.nextId<CollectiveRow>(),
                    .process_id = m_processId,
                    .thread_id = m_entities.thread(call.header.tid),
                    .communicator_id = {},
                    .start_ns = time.startNs,
                    .duration_ns = time.durationNs,
                    .sequence = collective.detail ? detail.sequence : -1,
                    .operation_id = *operation,
                    .datatype_id = *datatype,
                    .element_count = quantity(call.element_count),
                    .bytes = collectiveBytes(call, communicator, *operation, *datatype),
                    .root = unlessNegative(call.root),
                    .peer = unlessNegative(collective.detail && call.peer < 0 ? detail.peer : call.peer),
                    .algorithm_id = {},
                    .protocol_id = {},
                    .channels = {},
                    .stream_handle = unlessZero(call.stream_handle),
                    .external_id = unlessZero(detail.external_id)};
  if (communicator) row.communicator_id = communicator->id;
  if (detail.algorithm != 0) row.algorithm_id = algorithm;
  if (detail.protocol != 0) row.protocol_id = protocol;
  if (detail.channels != 0) row.channels = detail.channels;
  m_session.writer.insert(row);
  return true;
}

std::string_view ProcessRows::memoryCategory(const std::string& regionName) const {
  std::string category = regionName.substr(0, regionName.find('/'));
  for (char& c : category)
    c = c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto found = m_session.memoryCategories.find(category);
  return found == m_session.memoryCategories.end() ? std::string_view("unattributed") : std::string_view(*found);
}

bool ProcessRows::store(const MemoryRegionRecord& record, int64_t id) {
  const auto name = m_strings.find(record.name);
  if (!name) return false;
  m_session.writer.insert(MemoryRegionRow{.id = id,
                                          .process_id = m_processId,
                                          .start_ns = sessionTime(record.header, record.time_ns),
                                          .address = identity(record.address),
                                          .bytes = quantity(record.bytes),
                                          .name_id = *name,
                                          .category = memoryCategory(m_strings.text(*name))});
  return true;
}

void ProcessRows::storeAllocation(const AllocationRecord& record, int64_t id) {
  AllocationRow row{.id = id,
                    .process_id = m_processId,
                    .device_id = {},
                    .stream_id = {},
                    .start_ns = sessionTime(record.header, record.time_ns),
                    .address = identity(record.address),
                    .bytes = quantity(record.bytes),
                    .space = spaceName(record.space),
                    .from_pool = record.from_pool != 0,
                    .correlation = unlessZero(record.correlation)};
  if (record.device_ordinal != UINT32_MAX) row.device_id = m_entities.device(record.device_ordinal);
  if (record.stream != UINT32_MAX) row.stream_id = m_entities.stream(record.context, record.stream, std::nullopt);
  m_session.writer.insert(row);
}

void ProcessRows::storeDeallocation(const AddressMatcher::Closed& closed) {
  m_session.writer.insert(DeallocationRow{
      .allocation_id = closed.id, .start_ns = closed.timeNs, .correlation = unlessZero(closed.correlation)});
}

void ProcessRows::storeRegionEnd(const AddressMatcher::Closed& closed) {
  m_session.writer.insert(MemoryRegionEndRow{.region_id = closed.id, .start_ns = closed.timeNs});
}

}  // namespace plumb::recorder
