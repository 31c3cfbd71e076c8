// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/entities.h"

#include <fmt/format.h>

#include "collector/recorder/safe_math.h"

namespace plumb::recorder {

namespace {

// Counts of the device's properties; 0 means that the target did not know.
std::optional<int64_t> known(uint64_t value) {
  return value == 0 ? std::nullopt : std::optional<int64_t>(quantity(value));
}

std::string hexadecimal(const uint8_t (&bytes)[16]) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// CUpti_ActivityStreamFlag
std::optional<std::string_view> streamKind(uint32_t flag) {
  switch (flag) {
    case 1:
      return "default";
    case 2:
      return "non-blocking";
    case 3:
      return "null";
    default:
      return std::nullopt;
  }
}

// Past the limit everything is the first thing seen, rather than memory growing without bound.
template <class Map>
bool isFull(const Map& map, size_t limit) {
  return map.size() >= limit;
}

}  // namespace

int64_t Entities::thread(uint32_t tid) {
  if (const auto found = m_threads.find(tid); found != m_threads.end()) return found->second;
  if (isFull(m_threads, kMaxThings)) return m_threads.begin()->second;
  const auto id = m_writer.nextId<ThreadRow>();
  m_writer.insert(ThreadRow{.id = id, .process_id = m_processId, .tid = tid, .name_id = {}});
  m_threads.emplace(tid, id);
  return id;
}

int64_t Entities::device(uint32_t ordinal) {
  if (const auto found = m_devices.find(ordinal); found != m_devices.end()) return found->second;
  if (isFull(m_devices, kMaxThings)) return m_devices.begin()->second;
  const auto id = m_writer.nextId<DeviceRow>();
  m_writer.insert(DeviceRow{.id = id,
                            .process_id = m_processId,
                            .ordinal = ordinal,
                            .name_id = m_strings.table().idOf(fmt::format("device {}", ordinal)),
                            .kind = "gpu"});
  m_devices.emplace(ordinal, id);
  return id;
}

int64_t Entities::stream(uint32_t context, uint32_t number, std::optional<uint32_t> deviceOrdinal) {
  const uint64_t key = uint64_t{context} << 32 | number;
  const auto found = m_streams.find(key);
  if (found != m_streams.end() && (found->second.deviceId || !deviceOrdinal)) return found->second.id;
  if (found == m_streams.end() && isFull(m_streams, kMaxThings)) return m_streams.begin()->second.id;
  const bool isNew = found == m_streams.end();
  Stream stream{isNew ? m_writer.nextId<StreamRow>() : found->second.id, std::nullopt, {}};
  if (!isNew) stream.described = found->second.described;
  if (deviceOrdinal) stream.deviceId = device(*deviceOrdinal);
  const auto nameId = stream.described.name != 0 ? m_strings.find(stream.described.name) : std::nullopt;
  writeStream(stream, context, number, nameId);
  m_streams.insert_or_assign(key, stream);
  return stream.id;
}

void Entities::writeStream(const Stream& stream, uint32_t context, uint32_t number, std::optional<int64_t> nameId) {
  StreamRow row{.id = stream.id,
                .process_id = m_processId,
                .device_id = stream.deviceId,
                .context = context,
                .number = number,
                .priority = {},
                .kind = {},
                .name_id = nameId};
  if (stream.described.header.size_bytes != 0) {
    row.priority = stream.described.priority;
    row.kind = streamKind(stream.described.kind);
  }
  m_writer.replace(row);
}

std::optional<Entities::Communicator> Entities::communicator(uint64_t hash) const {
  const auto found = m_communicators.find(hash);
  return found == m_communicators.end() ? std::nullopt : std::optional(found->second);
}

bool Entities::describe(const ThreadNameRecord& record) {
  const auto name = m_strings.find(record.name);
  if (!name) return false;
  const int64_t id = thread(record.header.tid);
  m_writer.replace(ThreadRow{.id = id, .process_id = m_processId, .tid = record.header.tid, .name_id = *name});
  return true;
}

bool Entities::describe(const DeviceRecord& record) {
  const auto name = m_strings.find(record.name);
  if (!name) return false;
  const int64_t id = device(record.ordinal);
  const std::string uuid = hexadecimal(record.uuid);
  m_writer.replace(DeviceRow{.id = id,
                             .process_id = m_processId,
                             .ordinal = record.ordinal,
                             .name_id = *name,
                             .kind = record.kind == DeviceKind::kSoftware ? "software" : "gpu",
                             .uuid = uuid,
                             .compute_major = record.compute_major,
                             .compute_minor = record.compute_minor,
                             .multiprocessor_count = known(record.multiprocessor_count),
                             .memory_bytes = known(record.memory_bytes),
                             .memory_bandwidth_bytes_per_s = known(record.memory_bandwidth_bytes_per_s),
                             .core_clock_hz = known(record.core_clock_hz),
                             .max_threads_per_multiprocessor = known(record.max_threads_per_multiprocessor)});
  if (!m_roofed.insert(record.ordinal).second) return true;
  for (const auto& [resource, perSecond] : m_roofs.of(uuid)) {
    m_writer.insert(DeviceRoofRow{.process_id = m_processId,
                                  .ordinal = record.ordinal,
                                  .resource = resource,
                                  .per_second = perSecond,
                                  .source = "measured"});
  }
  return true;
}

bool Entities::describe(const StreamRecord& record) {
  const auto name = m_strings.find(record.name);
  if (!name) return false;
  const uint64_t key = uint64_t{record.context} << 32 | record.number;
  (void)stream(record.context, record.number, record.device_ordinal);
  const auto found = m_streams.find(key);
  if (found == m_streams.end()) return true;
  StreamRecord described = record;
  if (described.name == 0) described.name = found->second.described.name;  // a later record without a name keeps it
  found->second.described = described;
  const auto nameId = described.name != 0 ? m_strings.find(described.name) : std::nullopt;
  writeStream(found->second, record.context, record.number, nameId);
  return true;
}

bool Entities::describe(const CommunicatorRecord& record) {
  const auto name = m_strings.find(record.name);
  if (!name) return false;
  if (isFull(m_communicators, kMaxThings) || m_communicators.count(record.hash) != 0) return true;
  const auto id = m_writer.nextId<CommunicatorRow>();
  m_writer.insert(CommunicatorRow{.id = id,
                                  .process_id = m_processId,
                                  .hash = identity(record.hash),
                                  .name_id = record.name != 0 ? name : std::nullopt,
                                  .n_ranks = record.n_ranks,
                                  .rank = record.rank,
                                  .n_nodes = record.n_nodes});
  m_communicators.emplace(record.hash, Communicator{id, record.n_ranks});
  return true;
}

}  // namespace plumb::recorder
