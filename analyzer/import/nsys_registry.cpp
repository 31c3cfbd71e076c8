// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

namespace plumb::import {
namespace {

// 32 hex digits, or nothing.
std::string plainUuid(std::string_view text) {
  if (text.starts_with("GPU-") || text.starts_with("MIG-")) text.remove_prefix(4);
  std::string digits;
  for (const char c : text) {
    if (c == '-') continue;
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return {};
    digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return digits.size() == 32 ? digits : std::string();
}

std::optional<int64_t> positive(std::optional<int64_t> value) { return value && *value > 0 ? value : std::nullopt; }

// ENUM_CUPTI_STREAM_TYPE
const char* streamKind(int64_t flag) {
  switch (flag) {
    case 1:
      return "blocking";
    case 2:
      return "non-blocking";
    case 3:
      return "default";
    default:
      return nullptr;
  }
}

}  // namespace

NsysRegistry::NsysRegistry(NsysSource& source, TraceFile& file, NsysNames& names)
    : m_source(source), m_file(file), m_names(names) {
  readGpus();
}

uint64_t NsysRegistry::keyOf(std::optional<int64_t> global) {
  if (global) return GlobalId(*global).process();
  if (m_defaultKey) return *m_defaultKey;
  // Old and made-up exports name no process with GPU work. It is the one that makes the calls, if that is but one.
  m_defaultKey = 0;
  const std::string calls = m_source.nameOf("CUPTI_ACTIVITY_KIND_RUNTIME");
  if (calls.empty() || !m_source.has(calls, "globalTid")) return 0;
  auto rows = m_source.database().prepare(
      fmt::format("SELECT min(globalTid >> 24), max(globalTid >> 24) FROM main.\"{}\"", calls));
  if (rows.ok() && rows.value().next() && rows.value().integer(0) == rows.value().integer(1)) {
    m_defaultKey = static_cast<uint64_t>(rows.value().integer(0)) & 0xFFFFFFFFFF;
  }
  return *m_defaultKey;
}

int64_t NsysRegistry::process(std::optional<int64_t> global) {
  const uint64_t key = keyOf(global);
  const auto [entry, isNew] = m_indexByKey.try_emplace(key, m_processes.size());
  if (isNew) {
    Process process;
    process.id = m_file.rows().nextId<schema::ProcessRow>();
    process.pid = static_cast<int64_t>(key & 0xFFFFFF);
    process.key = key;
    m_indexById.emplace(process.id, m_processes.size());
    m_processes.push_back(process);
  }
  return m_processes[entry->second].id;
}

std::optional<int64_t> NsysRegistry::knownProcess(std::optional<int64_t> global) const {
  if (!global) return std::nullopt;
  const auto found = m_indexByKey.find(GlobalId(*global).process());
  return found == m_indexByKey.end() ? std::nullopt : std::optional(m_processes[found->second].id);
}

int64_t NsysRegistry::thread(std::optional<int64_t> globalTid) {
  const int64_t owner = process(globalTid);
  const uint64_t global = globalTid ? GlobalId(*globalTid).value : of(owner).key << 24;
  Thread& thread = m_threads[global];
  if (thread.id == 0) {
    thread = {m_file.rows().nextId<schema::ThreadRow>(), owner, static_cast<int64_t>(global & 0xFFFFFF), global};
  }
  return thread.id;
}

int64_t NsysRegistry::mainThread(int64_t process) {
  const Process& owner = of(process);
  return thread(static_cast<int64_t>(owner.key << 24 | static_cast<uint64_t>(owner.pid)));
}

int64_t NsysRegistry::device(int64_t process, int64_t ordinal) {
  Device& device = m_devices[{process, ordinal}];
  if (device.id == 0) device = {m_file.rows().nextId<schema::DeviceRow>(), process, ordinal};
  return device.id;
}

int64_t NsysRegistry::stream(int64_t process, int64_t device, int64_t context, int64_t number) {
  Stream& stream = m_streams[{device, {context, number}}];
  if (stream.id == 0) {
    stream = {m_file.rows().nextId<schema::StreamRow>(), process, device, context, number};
    m_contextDevice.try_emplace({process, context}, device);
    of(process).usesGpu = true;
  }
  return stream.id;
}

int64_t NsysRegistry::streamOfContext(int64_t process, int64_t ordinal, int64_t context, int64_t number) {
  const auto known = m_contextDevice.find({process, context});
  const auto told = m_contextOrdinal.find({of(process).pid, context});
  const int64_t owner = known != m_contextDevice.end()   ? known->second
                        : told != m_contextOrdinal.end() ? device(process, told->second)
                                                         : device(process, ordinal);
  return stream(process, owner, context, number);
}

int64_t NsysRegistry::processOfGpu(int64_t gpu) const {
  for (const auto& [key, device] : m_devices) {
    const Gpu* found = gpuOf(device);
    if (found != nullptr ? found->id == gpu : device.ordinal == gpu) return device.process;
  }
  const auto users = gpuProcesses();
  return !users.empty() ? users.front() : m_processes.empty() ? 0 : m_processes.front().id;
}

void NsysRegistry::noteTime(int64_t process, int64_t start, int64_t end) {
  Process& owner = of(process);
  owner.start = std::min(owner.start.value_or(start), start);
  owner.end = std::max(owner.end.value_or(end), end);
}

void NsysRegistry::noteRank(int64_t process, int64_t rank) {
  Process& owner = of(process);
  if (!owner.rank && rank >= 0) owner.rank = rank;
}

std::vector<int64_t> NsysRegistry::processes() const {
  std::vector<int64_t> ids;
  for (const Process& process : m_processes) ids.push_back(process.id);
  return ids;
}

std::vector<int64_t> NsysRegistry::gpuProcesses() const {
  std::vector<int64_t> ids;
  for (const Process& process : m_processes) {
    if (process.usesGpu) ids.push_back(process.id);
  }
  return ids;
}

std::optional<int64_t> NsysRegistry::firstNs() const {
  std::optional<int64_t> first;
  for (const Process& process : m_processes) {
    if (process.start) first = std::min(first.value_or(*process.start), *process.start);
  }
  return first;
}

bool NsysRegistry::write(std::optional<int64_t> rank, const std::string& fileName) {
  const std::vector<int64_t> users = gpuProcesses();
  const bool isOne = users.size() == 1 || m_processes.size() == 1;
  if (rank && isOne) of(users.size() == 1 ? users.front() : m_processes.front().id).rank = rank;
  writeProcesses(rank, fileName);
  writeThreads();
  writeDevices();
  writeStreams();
  return rank && isOne;
}

void NsysRegistry::writeProcesses(std::optional<int64_t>, const std::string& fileName) {
  std::unordered_map<uint64_t, std::string> names;
  m_source.forEach("PROCESSES", {"globalPid", "name"}, [&](const NsysRow& row) {
    if (const auto global = row.integer(0)) names.emplace(GlobalId(*global).process(), row.text(1));
  });
  for (const Process& process : m_processes) {
    const auto named = names.find(process.key);
    std::string name = named != names.end() ? named->second : std::string();
    if (const size_t slash = name.rfind('/'); slash != std::string::npos) name.erase(0, slash + 1);
    if (name.empty()) name = fmt::format("process {}", process.pid);
    const int64_t start = process.start.value_or(0);
    m_file.rows().insert(schema::ProcessRow{.id = process.id,
                                            .pid = process.pid,
                                            .parent_pid = 0,
                                            .host_id = 0,
                                            .program_id = m_file.textId(name),
                                            .command_id = m_file.textId(fileName),
                                            .rank = process.rank,
                                            .local_rank = std::nullopt,
                                            .world_size = std::nullopt,
                                            .start_ns = start,
                                            .end_ns = std::max(process.end.value_or(start), start),
                                            .ended = "exit"});
  }
}

void NsysRegistry::writeThreads() {
  std::unordered_map<uint64_t, int64_t> names;
  m_source.forEach("ThreadNames", {"globalTid", "nameId"}, [&](const NsysRow& row) {
    const auto global = row.integer(0);
    const auto name = row.integer(1);
    if (global && name && m_threads.count(GlobalId(*global).value) != 0) {
      names.insert_or_assign(GlobalId(*global).value, m_names.textId(*name));
    }
  });
  for (const auto& [global, thread] : m_threads) {
    const auto named = names.find(global);
    m_file.rows().insert(
        schema::ThreadRow{.id = thread.id,
                          .process_id = thread.process,
                          .tid = thread.tid,
                          .name_id = named == names.end() ? std::nullopt : std::optional<int64_t>(named->second)});
  }
}

void NsysRegistry::readGpus() {
  const auto take = [&](const NsysRow& row) {
    Gpu gpu;
    gpu.id = row.integerOr(0, 0);
    gpu.ordinal = row.integer(1);
    gpu.name = row.text(2);
    gpu.uuid = plainUuid(row.text(3));
    gpu.memory = positive(row.integer(4));
    gpu.bandwidth = positive(row.integer(5));
    gpu.clock = positive(row.integer(6));
    gpu.multiprocessors = positive(row.integer(7));
    gpu.major = row.integer(8);
    gpu.minor = row.integer(9);
    int64_t threads = 0;
    if (row.integer(10) && row.integer(11) && !__builtin_mul_overflow(*row.integer(10), *row.integer(11), &threads)) {
      gpu.threads = positive(threads);
    }
    m_gpus.push_back(std::move(gpu));
  };
  const std::vector<const char*> columns = {"id|deviceId|gpuId",
                                            "cuDevice",
                                            "name|deviceName",
                                            "uuid",
                                            "totalMemory|globalMemory",
                                            "memoryBandwidth|bandwidth",
                                            "clockRate|coreClockRate",
                                            "smCount|numMultiprocessors|multiprocessorCount",
                                            "computeMajor|computeCapabilityMajor|smMajor",
                                            "computeMinor|computeCapabilityMinor|smMinor",
                                            "maxWarpsPerSm|maxWarpsPerMultiprocessor",
                                            "threadsPerWarp|numThreadsPerWarp"};
  m_source.forEach("TARGET_INFO_GPU", columns, take);
  if (m_gpus.empty()) m_source.forEach("TARGET_INFO_CUDA_GPU", columns, take);  // until 2021.3
  m_source.forEach("TARGET_INFO_CUDA_CONTEXT_INFO", {"processId", "contextId", "deviceId"}, [&](const NsysRow& row) {
    if (row.integer(2)) m_contextOrdinal.try_emplace({row.integerOr(0, 0), row.integerOr(1, 0)}, *row.integer(2));
  });
  m_source.forEach("TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId", "uuid"}, [&](const NsysRow& row) {
    const std::pair key{row.integerOr(0, 0), row.integerOr(1, 0)};
    if (row.integer(2)) m_gpuOfCuda.try_emplace(key, *row.integer(2));
    if (std::string uuid = plainUuid(row.text(3)); !uuid.empty()) m_cudaUuid.try_emplace(key, std::move(uuid));
  });
}

const NsysRegistry::Gpu* NsysRegistry::gpuOf(const Device& device) const {
  const int64_t pid = m_processes[m_indexById.at(device.process)].pid;
  const auto byId = [&](int64_t id) -> const Gpu* {
    const auto found = std::find_if(m_gpus.begin(), m_gpus.end(), [id](const Gpu& gpu) { return gpu.id == id; });
    return found == m_gpus.end() ? nullptr : &*found;
  };
  // What the process itself saw first: with CUDA_VISIBLE_DEVICES its numbers are its own.
  for (const auto& key : {std::pair{pid, device.ordinal}, std::pair{int64_t{0}, device.ordinal}}) {
    const auto known = m_gpuOfCuda.find(key);
    if (known != m_gpuOfCuda.end()) return byId(known->second);
  }
  for (const Gpu& gpu : m_gpus) {
    if (gpu.ordinal == device.ordinal) return &gpu;
  }
  const bool hasOrdinals = std::any_of(m_gpus.begin(), m_gpus.end(), [](const Gpu& gpu) { return !!gpu.ordinal; });
  return hasOrdinals ? nullptr : byId(device.ordinal);
}

void NsysRegistry::writeDevices() {
  for (const auto& [key, device] : m_devices) {
    static const Gpu kUnknown;
    const Gpu* known = gpuOf(device);
    const Gpu& gpu = known != nullptr ? *known : kUnknown;
    const auto seen = m_cudaUuid.find({m_processes[m_indexById.at(device.process)].pid, device.ordinal});
    const std::string& uuid = seen != m_cudaUuid.end() ? seen->second : gpu.uuid;
    m_file.rows().insert(schema::DeviceRow{.id = device.id,
                                           .process_id = device.process,
                                           .ordinal = device.ordinal,
                                           .name_id = m_file.textId(gpu.name),
                                           .kind = "gpu",
                                           .uuid = uuid.empty() ? std::nullopt : std::optional<std::string_view>(uuid),
                                           .compute_major = gpu.major,
                                           .compute_minor = gpu.minor,
                                           .multiprocessor_count = gpu.multiprocessors,
                                           .memory_bytes = gpu.memory,
                                           .memory_bandwidth_bytes_per_s = gpu.bandwidth,
                                           .core_clock_hz = gpu.clock,
                                           .max_threads_per_multiprocessor = gpu.threads});
  }
}

void NsysRegistry::writeStreams() {
  std::map<std::tuple<int64_t, int64_t, int64_t>, StreamFacts> facts;  // by pid, context, number
  m_source.forEach("TARGET_INFO_CUDA_STREAM", {"processId", "contextId", "streamId", "priority", "flag"},
                   [&](const NsysRow& row) {
                     StreamFacts& stream = facts[{row.integerOr(0, 0), row.integerOr(1, 0), row.integerOr(2, 0)}];
                     // A small negative number, stored without its sign.
                     if (row.integer(3)) stream.priority = static_cast<int32_t>(static_cast<uint64_t>(*row.integer(3)));
                     stream.kind = streamKind(row.integerOr(4, 0));
                   });
  m_source.forEach("TARGET_INFO_NVTX_CUDA_STREAM", {"processId", "contextId", "streamId", "name"},
                   [&](const NsysRow& row) {
                     facts[{row.integerOr(0, 0), row.integerOr(1, 0), row.integerOr(2, 0)}].name = row.text(3);
                   });
  for (const auto& [key, stream] : m_streams) {
    const int64_t pid = m_processes[m_indexById.at(stream.process)].pid;
    const StreamFacts& known = facts[{pid, stream.context, stream.number}];
    m_file.rows().insert(schema::StreamRow{
        .id = stream.id,
        .process_id = stream.process,
        .device_id = stream.device,
        .context = stream.context,
        .number = stream.number,
        .priority = known.priority,
        .kind = known.kind != nullptr ? std::optional<std::string_view>(known.kind) : std::nullopt,
        .name_id = known.name.empty() ? std::nullopt : std::optional<int64_t>(m_file.textId(known.name))});
  }
}

}  // namespace plumb::import
