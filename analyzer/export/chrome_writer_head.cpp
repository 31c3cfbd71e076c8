// SPDX-License-Identifier: Apache-2.0
// The part of ChromeWriter that writes what stands before the events: the run, its processes and their devices.
#include <algorithm>
#include <cmath>

#include "analyzer/export/chrome_members.h"
#include "analyzer/export/chrome_writer.h"

namespace plumb::exports {
namespace {

// In torch.profiler's words as far as it has them; what is not known stays away, but for what every reader expects.
void addProperties(const Device& device, Members& members) {
  members.addNumber("id", device.ordinal);
  members.addString("name", device.name);
  members.addNumber("totalGlobalMem", device.memoryBytes);
  members.addNumber("computeMajor", device.computeMajor);
  members.addNumber("computeMinor", device.computeMinor);
  members.addNumber("numSms", device.multiprocessorCount);
  if (!device.uuid.empty()) members.addString("uuid", device.uuid);
  if (device.isSoftware) members.addString("kind", "software");
  if (device.memoryBandwidthBytesPerSecond > 0) {
    members.addNumber("memoryBandwidth (bytes/s)", device.memoryBandwidthBytesPerSecond);
  }
  if (device.coreClockHz > 0) members.addNumber("coreClock (Hz)", device.coreClockHz);
}

}  // namespace

Result<std::string> ChromeWriter::deviceProperties(const Process& process) {
  std::map<int64_t, std::string> more;  // by ordinal
  auto roofs =
      m_trace.query("SELECT ordinal, resource, per_second, source FROM main.device_roof WHERE process_id = ?1");
  if (!roofs.ok()) return roofs.error();
  roofs.value().bind(1, process.id.value());
  for (Statement& row = roofs.value(); row.next();) {
    if (!std::isfinite(row.real(2))) continue;
    Members roof;
    roof.addString("resource", row.text(1));
    roof.addNumber("per second", row.real(2));
    roof.addString("source", row.text(3));
    std::string& text = more[row.integer(0)];
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", roof.take());
  }
  if (Status read = roofs.value().status(); !read.ok()) return read.error();
  for (auto& [ordinal, text] : more) text = fmt::format("\"roofs\": [{}]", text);
  auto threads = m_trace.query(
      "SELECT ordinal, max_threads_per_multiprocessor FROM main.device WHERE process_id = ?1"
      " AND max_threads_per_multiprocessor > 0");
  if (!threads.ok()) return threads.error();
  threads.value().bind(1, process.id.value());
  for (Statement& row = threads.value(); row.next();) {
    std::string& text = more[row.integer(0)];
    text += fmt::format("{}\"maxThreadsPerMultiprocessor\": {}", text.empty() ? "" : ", ", row.integer(1));
  }
  if (Status read = threads.value().status(); !read.ok()) return read.error();

  std::string text;
  for (const Device& device : m_trace.devices()) {
    if (device.process != process.id) continue;
    Members members;
    addProperties(device, members);
    members.addMembers(more[device.ordinal]);
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", members.take());
  }
  return "[" + text + "]";
}

// With every communicator, those that no event names too.
Result<std::string> ChromeWriter::distributedInfo(const Process& process) {
  m_process = &process;
  if (Status loaded = loadMembers(); !loaded.ok()) return loaded.error();
  std::string groups, backend = "nccl", version;
  Status read =
      each("SELECT id, hash, name_id, n_ranks FROM main.communicator WHERE process_id = ?1 ORDER BY id",
           [&](Statement& row) {
             Members group;
             group.addString("pg_name", row.isNull(2) ? fmt::format("{:x}", static_cast<uint64_t>(row.integer(1)))
                                                      : std::string(m_trace.text(row.id<StringId>(2))));
             group.addNumber("pg_size", row.integer(3));
             if (const auto ranks = m_members.find(row.integer(0)); ranks != m_members.end()) {
               group.add("ranks", fmt::format("[{}]", ranks->second));
             }
             groups += fmt::format("{}{{{}}}", groups.empty() ? "" : ", ", group.take());
           });
  if (!read.ok()) return read.error();
  read = each("SELECT name_id, value_id FROM process_variable WHERE process_id = ?1", [&](Statement& row) {
    const std::string_view name = m_trace.text(row.id<StringId>(0)), value = m_trace.text(row.id<StringId>(1));
    if (name == "trace.backend") backend = value;
    if (name == "trace.nccl_version") version = value;
  });
  if (!read.ok()) return read.error();
  Members members;
  members.addString("backend", backend);
  members.addNumber("rank", *process.rank);
  members.addNumber("world_size", process.worldSize.value_or(1));
  if (!version.empty()) members.addString("nccl_version", version);
  if (!groups.empty()) members.add("pg_config", fmt::format("[{}]", groups));
  return members.take();
}

// What the source of an imported trace said of how it was recorded; of several processes, the first.
Status ChromeWriter::writeSaid() {
  constexpr std::string_view kSaid = "trace.";
  auto rows = m_trace.query(
      "SELECT name_id, value_id FROM process_variable WHERE process_id = ?1 GROUP BY name_id ORDER BY rowid");
  if (!rows.ok()) return rows.error();
  const Process& process = m_only ? *m_only : m_trace.processes().front();
  rows.value().bind(1, process.id.value());
  static constexpr std::string_view kApart[] = {"baseTimeNanoseconds", "schemaVersion", "displayTimeUnit", "backend",
                                                "nccl_version"};
  while (rows.value().next()) {
    std::string_view name = m_trace.text(rows.value().id<StringId>(0));
    if (!name.starts_with(kSaid)) continue;
    name.remove_prefix(kSaid.size());
    if (std::ranges::find(kApart, name) != std::end(kApart)) continue;
    Members member;
    member.addText(name, m_trace.text(rows.value().id<StringId>(1)));
    if (std::string text = member.take(); !text.empty()) m_block += text + ",\n";
  }
  return rows.value().status();
}

// What torch.profiler's words stand for in this file, so that an import has it again.
Status ChromeWriter::writeMeanings() {
  const std::string mine = m_only ? fmt::format(" AND process_id = {}", m_only->id.value()) : std::string();
  auto annotated = m_trace.query(
      "SELECT 1 FROM main.range WHERE domain_id IN (SELECT id FROM main.string WHERE text = 'user_annotation')" + mine +
      " LIMIT 1");
  if (!annotated.ok()) return annotated.error();
  const bool isAnnotated = annotated.value().next();
  if (Status read = annotated.value().status(); !read.ok()) return read;
  Members meanings;
  meanings.addNumber("session start (ns)", m_trace.info().sessionStartRealtimeNs);
  if (!isAnnotated) meanings.addString("user_annotation", "default domain");
  meanings.addString("Total Allocated", "computed");  // what was counted are counters
  m_block += fmt::format("\"plumb_export\": {{{}}},\n", meanings.take());
  return Unit{};
}

// What tells the processes apart again when the file is imported.
Status ChromeWriter::beginProcesses() {
  m_block += "\"processes\": [";
  const char* separator = "";
  for (const Process& process : m_trace.processes()) {
    std::string devices;
    for (const Device& device : m_trace.devices()) {
      if (device.process != process.id) continue;
      devices += fmt::format("{}{}", devices.empty() ? "" : ", ", devicePid(device));
    }
    m_block += fmt::format("{}\n  {{\"pid\": {}, \"device_pids\": [{}]", separator, pidOf(process), devices);
    if (pidOf(process) != process.pid) m_block += fmt::format(", \"own_pid\": {}", process.pid);
    if (process.rank) m_block += fmt::format(", \"rank\": {}", *process.rank);
    if (process.worldSize) m_block += fmt::format(", \"world_size\": {}", *process.worldSize);
    const auto properties = deviceProperties(process);
    if (!properties.ok()) return properties.error();
    m_block += fmt::format(", \"deviceProperties\": {}}}", properties.value());
    separator = ",";
  }
  m_block += "],\n";
  return Unit{};
}

Status ChromeWriter::begin() {
  m_block += "{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n";
  m_block += fmt::format("\"baseTimeNanoseconds\": {},\n", m_trace.info().sessionStartRealtimeNs - m_shiftNs);
  if (!m_trace.processes().empty()) {
    if (Status said = writeSaid(); !said.ok()) return said;
  }
  if (Status written = writeMeanings(); !written.ok()) return written;
  if (!m_only) {
    if (Status begun = beginProcesses(); !begun.ok()) return begun;
  } else {
    if (!m_only->host.empty()) {
      Members host;
      host.addString("hostname", m_only->host);
      m_block += host.take() + ",\n";
    }
    const auto properties = deviceProperties(*m_only);
    if (!properties.ok()) return properties.error();
    m_block += fmt::format("\"deviceProperties\": {},\n", properties.value());
    if (m_only->rank) {
      const auto info = distributedInfo(*m_only);
      if (!info.ok()) return info.error();
      m_block += fmt::format("\"distributedInfo\": {{{}}},\n", info.value());
    }
  }
  m_block += "\"traceEvents\": [";
  return Unit{};
}

}  // namespace plumb::exports
