// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace plumb::import {
namespace {

std::optional<int64_t> integerOf(std::string_view text) {
  int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

// What the source says about one device, under all names that its versions used.
struct Properties {
  std::string name;
  std::optional<int64_t> major, minor, multiprocessors, memory, threads;
  // Of an export of ours:
  std::string uuid;
  bool isSoftware = false;
  std::optional<int64_t> bandwidth, clock;
  struct Roof {
    std::string resource, source;
    double perSecond;
  };
  std::vector<Roof> roofs;
};

std::optional<int64_t> positive(const JsonValue& value) {
  const auto number = value.toInteger();
  return number && *number > 0 ? number : std::nullopt;
}

// [{"resource": "fp32", "per second": 6.7e13, "source": "measured"}]
std::vector<Properties::Roof> readRoofs(const JsonValue& roofs) {
  std::vector<Properties::Roof> found;
  if (roofs.kind != JsonKind::Array) return found;
  (void)readArray(roofs.text, [&](const JsonValue& element) {
    Properties::Roof roof{{}, {}, 0};
    (void)readObject(element.text, [&](std::string_view key, const JsonValue& value) {
      if (key == "resource") roof.resource = value.toText();
      if (key == "source") roof.source = value.toText();
      if (key == "per second") roof.perSecond = value.toReal().value_or(0);
    });
    const bool isKnownSource = roof.source == "measured" || roof.source == "datasheet";
    if (isKnownSource && !roof.resource.empty() && roof.perSecond > 0) found.push_back(std::move(roof));
  });
  return found;
}

std::map<int64_t, Properties> readProperties(std::string_view json) {
  std::map<int64_t, Properties> devices;
  (void)readArray(json, [&](const JsonValue& element) {
    Properties found;
    std::optional<int64_t> id;
    (void)readObject(element.text, [&](std::string_view key, const JsonValue& value) {
      if (key == "id") id = value.toInteger();
      if (key == "name") found.name = value.toText();
      if (key == "computeMajor" || key == "major") found.major = value.toInteger();
      if (key == "computeMinor" || key == "minor") found.minor = value.toInteger();
      if (key == "numSms" || key == "multiProcessorCount") found.multiprocessors = positive(value);
      if (key == "totalGlobalMem") found.memory = positive(value);
      if (key == "maxThreadsPerMultiprocessor" || key == "maxThreadsPerMultiProcessor") {
        found.threads = positive(value);
      }
      if (key == "uuid") found.uuid = value.toText();
      if (key == "kind") found.isSoftware = value.toText() == "software";
      if (key == "memoryBandwidth (bytes/s)") found.bandwidth = positive(value);
      if (key == "coreClock (Hz)") found.clock = positive(value);
      if (key == "roofs") found.roofs = readRoofs(value);
    });
    if (id) devices.emplace(*id, std::move(found));
  });
  return devices;
}

}  // namespace

int64_t Registry::process(std::string_view pid) {
  const std::string_view key = m_oneProcess ? std::string_view() : pid;
  if (const auto found = m_processes.find(key); found != m_processes.end()) return found->second.id;
  const int64_t id = m_file.rows().nextId<schema::ProcessRow>();
  m_processes.emplace(std::string(key), ProcessFacts{id, std::string(key)});
  return id;
}

int64_t Registry::thread(int64_t process, std::string_view pid, std::string_view tid) {
  m_threadKey.assign(pid).append(1, '\n').append(tid);
  if (const auto found = m_threads.find(m_threadKey); found != m_threads.end()) return found->second.id;
  const int64_t id = m_file.rows().nextId<schema::ThreadRow>();
  m_threads.emplace(m_threadKey, ThreadFacts{id, process, std::string(pid), std::string(tid)});
  return id;
}

std::optional<int64_t> Registry::knownThread(std::string_view pid, std::string_view tid) const {
  const auto found = m_threads.find(fmt::format("{}\n{}", pid, tid));
  return found == m_threads.end() ? std::nullopt : std::optional(found->second.id);
}

int64_t Registry::device(int64_t process, int64_t ordinal) {
  DeviceFacts& facts = m_devices[{process, ordinal}];
  if (facts.id == 0) facts = {m_file.rows().nextId<schema::DeviceRow>(), process, ordinal};
  return facts.id;
}

int64_t Registry::stream(int64_t process, int64_t device, int64_t number, int64_t context) {
  StreamFacts& facts = m_streams[{device, number}];
  if (facts.id == 0) facts = {m_file.rows().nextId<schema::StreamRow>(), process, device, number, context};
  return facts.id;
}

void Registry::nameProcess(std::string_view pid, std::string name) {
  m_processNames.insert_or_assign(std::string(pid), std::move(name));
}

void Registry::nameThread(std::string_view pid, std::string_view tid, std::string name) {
  m_threadNames.insert_or_assign(fmt::format("{}\n{}", pid, tid), std::move(name));
}

void Registry::takeNames(const Registry& other) {
  m_processNames = other.m_processNames;
  m_threadNames = other.m_threadNames;
}

void Registry::noteHostPid(std::string_view pid, HostSign sign) {
  if (sign <= m_hostSign || pid.empty()) return;
  // Rows that are of no program: "Spans", -1 of the profiler's overhead.
  if (sign == HostSign::Other && integerOf(pid).value_or(0) <= 0) return;
  m_hostPid = pid;
  m_hostSign = sign;
}

// Where no event tells, the only pid with a name that is no device's.
std::string Registry::ownPid() const {
  if (m_hostSign != HostSign::None) return m_hostPid;
  const auto isDevice = [&](int64_t pid) {
    return std::any_of(m_devices.begin(), m_devices.end(),
                       [&](const auto& device) { return device.second.ordinal == pid; });
  };
  std::string own;
  for (const auto& [pid, name] : m_processNames) {
    const int64_t number = integerOf(pid).value_or(0);
    if (number <= 0 || isDevice(number)) continue;
    if (!own.empty()) return {};
    own = pid;
  }
  return own;
}

std::vector<int64_t> Registry::processes() const {
  std::vector<int64_t> ids;
  for (const auto& [pid, facts] : m_processes) ids.push_back(facts.id);
  return ids;
}

void Registry::write(const RunFacts& facts, int64_t startNs, int64_t endNs) {
  const std::string own = ownPid();
  for (const auto& [key, process] : m_processes) {
    const std::string& pid = m_oneProcess ? own : process.pid;
    const auto name = m_processNames.find(pid);
    const auto rank = facts.ranks.find(process.id);
    m_file.rows().insert(schema::ProcessRow{
        .id = process.id,
        .pid = facts.ownPid.value_or(integerOf(pid).value_or(0)),
        .parent_pid = 0,
        .host_id = m_file.textId(facts.host),
        .program_id =
            m_file.textId(name != m_processNames.end() ? std::string_view(name->second) : std::string_view(pid)),
        .command_id = m_file.textId(facts.source),
        .rank = rank != facts.ranks.end() ? std::optional(rank->second) : facts.rank,
        .local_rank = std::nullopt,
        .world_size = facts.worldSize,
        .start_ns = startNs,
        .end_ns = endNs,
        .ended = "exit"});
  }
  writeThreads(own);
  writeDevices(facts);
}

void Registry::writeThreads(const std::string& ownPid) {
  for (const auto& [key, thread] : m_threads) {
    const auto named = m_threadNames.find(key);
    std::string name = named != m_threadNames.end() ? named->second : std::string();
    // Rows of the source that are no thread of the program: GPU annotations, the profiler's own.
    if (name.empty() && m_oneProcess && thread.pid != ownPid) name = fmt::format("{} {}", thread.pid, thread.tid);
    if (name.empty() && !integerOf(thread.tid)) name = thread.tid;
    m_file.rows().insert(schema::ThreadRow{
        .id = thread.id,
        .process_id = thread.process,
        .tid = integerOf(thread.tid).value_or(0),
        .name_id = name.empty() ? std::optional<int64_t>() : std::optional<int64_t>(m_file.textId(name))});
  }
}

void Registry::writeDevices(const RunFacts& facts) {
  const auto properties = readProperties(facts.deviceProperties);
  for (const auto& [key, device] : m_devices) {
    const auto known = properties.find(device.ordinal);
    const Properties none, &found = known != properties.end() ? known->second : none;
    m_file.rows().insert(
        schema::DeviceRow{.id = device.id,
                          .process_id = device.process,
                          .ordinal = device.ordinal,
                          .name_id = m_file.textId(found.name),
                          .kind = found.isSoftware ? "software" : "gpu",
                          .uuid = found.uuid.empty() ? std::nullopt : std::optional<std::string_view>(found.uuid),
                          .compute_major = found.major,
                          .compute_minor = found.minor,
                          .multiprocessor_count = found.multiprocessors,
                          .memory_bytes = found.memory,
                          .memory_bandwidth_bytes_per_s = found.bandwidth,
                          .core_clock_hz = found.clock,
                          .max_threads_per_multiprocessor = found.threads});
    for (const Properties::Roof& roof : found.roofs) {
      m_file.rows().insert(schema::DeviceRoofRow{.process_id = device.process,
                                                 .ordinal = device.ordinal,
                                                 .resource = roof.resource,
                                                 .per_second = roof.perSecond,
                                                 .source = roof.source});
    }
  }
  for (const auto& [key, stream] : m_streams) {
    m_file.rows().insert(schema::StreamRow{.id = stream.id,
                                           .process_id = stream.process,
                                           .device_id = stream.device,
                                           .context = stream.context,
                                           .number = stream.number,
                                           .priority = std::nullopt,
                                           .kind = std::nullopt,
                                           .name_id = std::nullopt});
  }
}

}  // namespace plumb::import
