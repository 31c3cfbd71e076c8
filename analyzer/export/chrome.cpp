// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/chrome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyzer/export/chrome_names.h"
#include "analyzer/export/json_text.h"
#include "analyzer/export/output_file.h"

namespace plumb::exports {
namespace {

constexpr int64_t kNoUsableTime = 1;  // event flag
constexpr size_t kBlockBytes = 1 << 20;

class Writer {
 public:
  // oneProcess: pids as torch.profiler has them, the device's ordinal for its work. Otherwise every process and every
  // device has a pid of its own, which no two ranks share.
  Writer(Trace& trace, OutputFile& out, bool oneProcess)
      : m_trace(trace),
        m_out(out),
        m_oneProcess(oneProcess),
        m_shiftNs(std::max<int64_t>(0, trace.info().sessionStartRealtimeNs) % 1000) {}

  [[nodiscard]] Status process(const Process& process);
  void begin(const Process* only);
  void end();
  [[nodiscard]] uint64_t events() const { return m_events; }

 private:
  using Row = std::function<void(Statement&)>;
  [[nodiscard]] Status each(const char* sql, const Row& row);
  template <class... Arguments>
  void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    m_block += m_events++ == 0 ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(m_block), format, std::forward<Arguments>(arguments)...);
    if (m_block.size() > kBlockBytes) flush();
  }
  void flush() {
    m_out.write(m_block);
    m_block.clear();
  }
  const std::string& quoted(StringId id) {
    const auto known = m_quoted.find(id);
    if (known != m_quoted.end()) return known->second;
    return m_quoted.emplace(id, jsonText(m_trace.text(id))).first->second;
  }
  struct Place {
    int64_t pid, ordinal, stream, context;
  };
  [[nodiscard]] Place placeOf(StreamId id);
  [[nodiscard]] int64_t tidOf(ThreadId id);
  [[nodiscard]] int64_t devicePid(const Device& device) const;

  void names(const Process& process);
  [[nodiscard]] Status hostEvents();
  [[nodiscard]] Status rangeEvents();
  [[nodiscard]] Status operatorEvents();
  [[nodiscard]] Status loadCollectives();
  [[nodiscard]] Status gpuEvents();
  [[nodiscard]] Status otherEvents();
  [[nodiscard]] Status memoryEvents();
  void arrow(const Place& place, int64_t correlation, int64_t start);
  [[nodiscard]] std::string at(int64_t ns) const { return micros(ns + m_shiftNs); }

  Trace& m_trace;
  OutputFile& m_out;
  bool m_oneProcess;
  // Times count from a whole microsecond: readers that round them round the time of day, as they do with torch's.
  int64_t m_shiftNs;
  const Process* m_process = nullptr;
  int64_t m_pid = 0;
  std::string m_block;
  uint64_t m_events = 0;
  std::unordered_map<StringId, std::string> m_quoted;
  std::unordered_map<StreamId, Place> m_places;
  std::unordered_map<ThreadId, int64_t> m_tids;
  std::unordered_map<Correlation, std::string> m_collectives;  // arguments of the kernels with that correlation
  std::unordered_set<Correlation> m_launched;                  // has a call, where an arrow begins
};

Status Writer::each(const char* sql, const Row& row) {
  auto rows = m_trace.query(sql);
  if (!rows.ok()) return rows.error();
  rows.value().bind(1, m_process->id.value());
  while (rows.value().next()) row(rows.value());
  return rows.value().status();
}

int64_t Writer::devicePid(const Device& device) const {
  constexpr uint64_t kFirst = uint64_t{1} << 30;  // above every pid of Linux (2^22)
  return m_oneProcess ? device.ordinal : static_cast<int64_t>(kFirst + static_cast<uint64_t>(device.id.value()));
}

Writer::Place Writer::placeOf(StreamId id) {
  const auto known = m_places.find(id);
  return known == m_places.end() ? Place{m_pid, -1, -1, 0} : known->second;
}

int64_t Writer::tidOf(ThreadId id) {
  const auto known = m_tids.find(id);
  return known == m_tids.end() ? 0 : known->second;
}

void Writer::begin(const Process* only) {
  m_block += "{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n";
  m_block += fmt::format("\"baseTimeNanoseconds\": {},\n", m_trace.info().sessionStartRealtimeNs - m_shiftNs);
  m_block += "\"deviceProperties\": [";
  const char* separator = "";
  for (const Device& device : m_trace.devices()) {
    if (only && device.process != only->id) continue;
    m_block += fmt::format(
        "{}\n  {{\"id\": {}, \"name\": {}, \"totalGlobalMem\": {}, \"computeMajor\": {}, \"computeMinor\": {}, "
        "\"numSms\": "
        "{}}}",
        separator, device.ordinal, jsonText(device.name), device.memoryBytes, device.computeMajor, device.computeMinor,
        device.multiprocessorCount);
    separator = ",";
  }
  m_block += "],\n";
  const auto& processes = m_trace.processes();
  if (only == nullptr && processes.size() == 1) only = &processes.front();
  if (only && only->rank) {
    m_block += fmt::format("\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}}},\n",
                           *only->rank, only->worldSize.value_or(1));
  }
  m_block += "\"traceEvents\": [";
}

void Writer::end() {
  m_block += "\n]}\n";
  flush();
}

void Writer::names(const Process& process) {
  const auto name = [&](const char* kind, int64_t pid, int64_t tid, std::string_view text) {
    event(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "ts": 0, "args": {{"name": {}}}}})", kind, pid, tid,
          jsonText(text));
  };
  const auto label = [&](int64_t pid, std::string_view text) {
    event(R"({{"ph": "M", "name": "process_labels", "pid": {}, "tid": 0, "ts": 0, "args": {{"labels": {}}}}})", pid,
          jsonText(text));
  };
  const auto sort = [&](int64_t pid, int64_t index) {
    event(R"({{"ph": "M", "name": "process_sort_index", "pid": {}, "tid": 0, "ts": 0, "args": {{"sort_index": {}}}}})",
          pid, index);
  };
  // A hundred places for each process; what a damaged file says of it only has to fit.
  constexpr int64_t kPlaces = 100, kMostRanks = 1 << 24;
  const int64_t order = kPlaces * std::clamp<int64_t>(process.rank.value_or(process.id.value()), 0, kMostRanks);
  name("process_name", m_pid, 0, process.program);
  label(m_pid, process.rank ? fmt::format("CPU, rank {}", *process.rank) : std::string("CPU"));
  sort(m_pid, order);
  for (const Thread& thread : m_trace.threads()) {
    if (thread.process != process.id) continue;
    m_tids[thread.id] = thread.tid;
    name("thread_name", m_pid, thread.tid, thread.name.empty() ? fmt::format("thread {}", thread.tid) : thread.name);
  }
  for (const Device& device : m_trace.devices()) {
    if (device.process != process.id) continue;
    const int64_t pid = devicePid(device);
    name("process_name", pid, 0, process.program);
    label(pid, process.rank && !m_oneProcess ? fmt::format("GPU {}, rank {}", device.ordinal, *process.rank)
                                             : fmt::format("GPU {}", device.ordinal));
    sort(pid, order + 1 + std::clamp<int64_t>(device.ordinal, 0, kPlaces - 2));
  }
  for (const Stream& stream : m_trace.streams()) {
    if (stream.process != process.id) continue;
    const Device* device = stream.device ? m_trace.device(*stream.device) : nullptr;
    const Place place{device ? devicePid(*device) : m_pid, device ? device->ordinal : -1, stream.number,
                      stream.context};
    m_places[stream.id] = place;
    name("thread_name", place.pid, stream.number, stream.name);
  }
}

Status Writer::hostEvents() {
  return each(
      "SELECT start_ns, duration_ns, name_id, thread_id, layer, correlation, result FROM main.api_call WHERE "
      "process_id = ?1",
      [&](Statement& row) {
        m_launched.insert(row.id<Correlation>(5));
        event(
            R"({{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"correlation": {}, "cbid": {}}}}})",
            row.text(4) == "driver" ? "cuda_driver" : "cuda_runtime", quoted(row.id<StringId>(2)), m_pid,
            tidOf(row.id<ThreadId>(3)), at(row.integer(0)), micros(row.integer(1)), row.integer(5), row.integer(6));
        event(R"({{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": {}, "tid": {}, "ts": {}}})",
              row.integer(5), m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(0)));
      });
}

Status Writer::rangeEvents() {
  std::unordered_map<int64_t, int64_t> steps;  // range to number
  Status read = each("SELECT id, step FROM steps WHERE process_id = ?1",
                     [&](Statement& row) { steps.emplace(row.integer(0), row.integer(1)); });
  if (!read.ok()) return read;
  return each(
      "SELECT id, start_ns, duration_ns, name_id, thread_id, kind, domain_id FROM main.range WHERE process_id = ?1",
      [&](Statement& row) {
        const auto step = steps.find(row.integer(0));
        const std::string& name = quoted(row.id<StringId>(3));
        const auto domain = row.id<StringId>(6);
        const std::string category = domain == StringId(0) ? "\"user_annotation\"" : quoted(domain);
        const int64_t tid = tidOf(row.id<ThreadId>(4));
        if (step != steps.end() && !row.isNull(2)) {
          event(
              R"({{"ph": "X", "cat": {}, "name": "ProfilerStep#{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"range": {}}}}})",
              category, step->second, m_pid, tid, at(row.integer(1)), micros(row.integer(2)), name);
        } else if (row.text(5) == "mark") {
          event(R"({{"ph": "i", "s": "t", "cat": {}, "name": {}, "pid": {}, "tid": {}, "ts": {}}})", category, name,
                m_pid, tid, at(row.integer(1)));
        } else if (row.isNull(2)) {
          event(R"({{"ph": "B", "cat": {}, "name": {}, "pid": {}, "tid": {}, "ts": {}}})", category, name, m_pid, tid,
                at(row.integer(1)));
        } else if (row.text(5) == "start_end") {  // these need not nest
          for (const auto& [phase, time] : {std::pair('b', row.integer(1)), {'e', row.integer(1) + row.integer(2)}}) {
            event(R"({{"ph": "{}", "cat": {}, "name": {}, "id": {}, "pid": {}, "tid": {}, "ts": {}}})", phase, category,
                  name, row.integer(0), m_pid, tid, at(time));
          }
        } else {
          event(R"({{"ph": "X", "cat": {}, "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}}})", category, name,
                m_pid, tid, at(row.integer(1)), micros(row.integer(2)));
        }
      });
}

Status Writer::operatorEvents() {
  Status read = each(
      "SELECT o.start_ns, o.duration_ns, o.name_id, o.thread_id, o.external_id, o.sequence, d.text, t.text"
      " FROM operator o LEFT JOIN operator_argument_set a ON a.id = o.argument_set_id"
      " LEFT JOIN main.string d ON d.id = a.dims_id LEFT JOIN main.string t ON t.id = a.types_id WHERE o.process_id = "
      "?1",
      [&](Statement& row) {
        std::string arguments;
        const auto add = [&](const char* key, std::string_view value) {
          arguments += fmt::format("{}\"{}\": {}", arguments.empty() ? "" : ", ", key, value);
        };
        if (!row.isNull(4)) add("External id", row.text(4));
        if (!row.isNull(5)) add("Sequence number", row.text(5));
        // The file's text is JSON only if its importer wrote it; anything else goes in as a string.
        const auto addJson = [&](const char* key, int column) {
          const std::string_view text = row.text(column);
          if (text.empty()) return;
          add(key, isJson(text) ? std::string(text) : jsonText(text));
        };
        addJson("Input Dims", 6);
        addJson("Input type", 7);
        event(
            R"({{"ph": "X", "cat": "cpu_op", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
            quoted(row.id<StringId>(2)), m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(0)), micros(row.integer(1)),
            arguments);
      });
  if (!read.ok()) return read;
  return each(
      "SELECT start_ns, duration_ns, name_id, thread_id, id, parent_id FROM python_call WHERE process_id = ?1",
      [&](Statement& row) {
        event(
            R"({{"ph": "X", "cat": "python_function", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"Python id": {}, "Python parent id": {}}}}})",
            quoted(row.id<StringId>(2)), m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(0)), micros(row.integer(1)),
            row.integer(4), row.isNull(5) ? std::string("null") : std::string(row.text(5)));
      });
}

Status Writer::loadCollectives() {
  m_collectives.clear();
  return each(
      "SELECT l.correlation, c.operation_id, c.datatype_id, c.element_count, c.bytes, c.sequence, m.n_ranks, m.hash,"
      " m.name_id FROM main.collective c JOIN main.correlation_link l ON l.process_id = c.process_id"
      " AND l.external_id = c.external_id LEFT JOIN main.communicator m ON m.id = c.communicator_id"
      " WHERE c.process_id = ?1",
      [&](Statement& row) {
        const std::string_view operation = m_trace.text(row.id<StringId>(1));
        const TorchType type = torchType(m_trace.text(row.id<StringId>(2)));
        const int64_t own = row.integer(3), whole = type.bytes > 0 ? row.integer(4) / type.bytes : own;
        const int64_t in = operation == "ReduceScatter" ? whole : own;
        const int64_t out = operation == "AllGather" ? whole : own;
        const std::string group = row.isNull(8) ? fmt::format("{:x}", static_cast<uint64_t>(row.integer(7)))
                                                : std::string(m_trace.text(row.id<StringId>(8)));
        // Of several collectives in one launch the first speaks for it, as a JSON object has each key once.
        m_collectives.emplace(
            row.id<Correlation>(0),
            fmt::format(
                R"(, "Collective name": {}, "In msg nelems": {}, "Out msg nelems": {}, "Group size": {}, "dtype": {}, "Process Group Name": {}, "Seq": {})",
                jsonText(torchOperation(operation)), in, out, row.integer(6), jsonText(type.name), jsonText(group),
                row.integer(5)));
      });
}

void Writer::arrow(const Place& place, int64_t correlation, int64_t start) {
  if (!m_launched.contains(Correlation(correlation))) return;
  event(R"({{"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": {}, "tid": {}, "ts": {}}})",
        correlation, place.pid, place.stream, at(start));
}

Status Writer::gpuEvents() {
  const auto head = [](const Place& place, int64_t correlation) {
    return fmt::format(R"("device": {}, "context": {}, "stream": {}, "correlation": {})", place.ordinal, place.context,
                       place.stream, correlation);
  };
  Status read = each(
      "SELECT start_ns, duration_ns, name_id, stream_id, correlation, flags, grid_x, grid_y, grid_z, block_x, block_y,"
      " block_z, registers_per_thread, static_shared_bytes + dynamic_shared_bytes, graph_id, graph_node_id"
      " FROM main.kernel WHERE process_id = ?1",
      [&](Statement& row) {
        if (row.integer(5) & kNoUsableTime) return;
        const Place place = placeOf(row.id<StreamId>(3));
        const auto collective = m_collectives.find(row.id<Correlation>(4));
        event(
            R"({{"ph": "X", "cat": "kernel", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}, "grid": [{}, {}, {}], "block": [{}, {}, {}], "registers per thread": {}, "shared memory": {}, "graph id": {}, "graph node id": {}{}}}}})",
            quoted(row.id<StringId>(2)), place.pid, place.stream, at(row.integer(0)), micros(row.integer(1)),
            head(place, row.integer(4)), row.integer(6), row.integer(7), row.integer(8), row.integer(9),
            row.integer(10), row.integer(11), row.integer(12), row.integer(13), row.integer(14), row.integer(15),
            collective == m_collectives.end() ? std::string() : collective->second);
        arrow(place, row.integer(4), row.integer(0));
      });
  if (!read.ok()) return read;
  // The data rate as torch.profiler writes it.
  const auto transfer = [](const Statement& row, int bandwidth) {
    const int64_t bytes = row.integer(5), ns = row.integer(1);
    const double computed = ns > 0 ? static_cast<double>(bytes) / static_cast<double>(ns) : 0.0;
    return fmt::format(R"j("bytes": {}, "memory bandwidth (GB/s)": {})j", bytes,
                       row.isNull(bandwidth) ? computed : row.real(bandwidth));
  };
  read = each(
      "SELECT start_ns, duration_ns, stream_id, correlation, flags, bytes, copy_kind, source_kind, target_kind, "
      "gb_per_s"
      " FROM main.memory_copy LEFT JOIN memory_copy_bandwidth ON memory_copy_id = id WHERE process_id = ?1",
      [&](Statement& row) {
        if (row.integer(4) & kNoUsableTime) return;
        const Place place = placeOf(row.id<StreamId>(2));
        const std::string name = fmt::format("Memcpy {} ({} -> {})", copyKindName(row.integer(6)),
                                             memoryKindName(row.integer(7)), memoryKindName(row.integer(8)));
        event(
            R"({{"ph": "X", "cat": "gpu_memcpy", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}, {}}}}})",
            name, place.pid, place.stream, at(row.integer(0)), micros(row.integer(1)), head(place, row.integer(3)),
            transfer(row, 9));
        arrow(place, row.integer(3), row.integer(0));
      });
  if (!read.ok()) return read;
  return each(
      "SELECT start_ns, duration_ns, stream_id, correlation, flags, bytes, memory_kind, gb_per_s"
      " FROM main.memory_set LEFT JOIN memory_set_bandwidth ON memory_set_id = id WHERE process_id = ?1",
      [&](Statement& row) {
        if (row.integer(4) & kNoUsableTime) return;
        const Place place = placeOf(row.id<StreamId>(2));
        const std::string name = fmt::format("Memset ({})", memoryKindName(row.integer(6)));
        event(
            R"({{"ph": "X", "cat": "gpu_memset", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}, {}}}}})",
            name, place.pid, place.stream, at(row.integer(0)), micros(row.integer(1)), head(place, row.integer(3)),
            transfer(row, 7));
        arrow(place, row.integer(3), row.integer(0));
      });
}

Status Writer::otherEvents() {
  constexpr int64_t kContextWait = 4;  // CUpti_ActivitySynchronizationType
  auto eventWaits = m_trace.query("SELECT 1 FROM main.synchronization WHERE kind = 1 LIMIT 1");
  if (!eventWaits.ok()) return eventWaits.error();
  const bool hasEventWaits = eventWaits.value().next();
  Status read = each(
      "SELECT start_ns, duration_ns, kind, stream_id, event_id, correlation FROM main.synchronization WHERE "
      "process_id = ?1",
      [&](Statement& row) {
        const Place place = row.isNull(3) ? Place{m_pid, 0, -1, 0} : placeOf(row.id<StreamId>(3));
        // Sources whose waits for events are not recorded write all streams of a context as 2^32 - 1, which counts for
        // HTA.
        const int64_t stream =
            row.isNull(3) && row.integer(2) == kContextWait && !hasEventWaits ? 4294967295 : place.stream;
        event(
            R"({{"ph": "X", "cat": "cuda_sync", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"cuda_sync_kind": "{}", "device": {}, "context": {}, "stream": {}, "correlation": {}{}}}}})",
            syncName(row.integer(2)), place.pid, place.stream, at(row.integer(0)), micros(row.integer(1)),
            syncName(row.integer(2)), place.ordinal, place.context, stream, row.integer(5),
            row.isNull(4) ? std::string() : fmt::format(", \"wait_on_cuda_event_id\": {}", row.integer(4)));
      });
  if (!read.ok()) return read;
  read = each("SELECT start_ns, name_id, value FROM main.counter_sample WHERE process_id = ?1", [&](Statement& row) {
    if (!std::isfinite(row.real(2))) return;  // JSON has no such number
    const std::string& name = quoted(row.id<StringId>(1));
    event(R"({{"ph": "C", "name": {}, "pid": {}, "tid": 0, "ts": {}, "args": {{{}: {}}}}})", name, m_pid,
          at(row.integer(0)), name, row.real(2));
  });
  if (!read.ok()) return read;
  if (Status done = memoryEvents(); !done.ok()) return done;
  int64_t arrow = 0;
  return each(
      "SELECT name_id, source_thread_id, source_start_ns, target_thread_id, target_start_ns FROM main.flow"
      " WHERE process_id = ?1",
      [&](Statement& row) {
        const std::string& name = quoted(row.id<StringId>(0));
        ++arrow;
        event(R"({{"ph": "s", "cat": {}, "name": {}, "id": {}, "pid": {}, "tid": {}, "ts": {}}})", name, name, arrow,
              m_pid, tidOf(row.id<ThreadId>(1)), at(row.integer(2)));
        event(R"({{"ph": "f", "bp": "e", "cat": {}, "name": {}, "id": {}, "pid": {}, "tid": {}, "ts": {}}})", name,
              name, arrow, m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(4)));
      });
}

// Of what torch.profiler has a type for: c10's DeviceType 0 is the host, 1 a GPU.
Status Writer::memoryEvents() {
  std::map<std::pair<int64_t, int64_t>, int64_t> allocated;  // by type and ordinal
  return each(
      "WITH piece AS (SELECT a.id, a.start_ns, a.address, a.bytes, a.space = 'device' AS type,"
      " CASE WHEN a.space = 'device' THEN coalesce(d.ordinal, 0) ELSE -1 END AS ordinal"
      " FROM main.allocation a LEFT JOIN main.device d ON d.id = a.device_id"
      " WHERE a.process_id = ?1 AND a.space IN ('device', 'pageable'))"
      " SELECT start_ns AS at, address, bytes, type, ordinal FROM piece"
      " UNION ALL SELECT f.start_ns, address, -bytes, type, ordinal"
      " FROM piece p JOIN main.deallocation f ON f.allocation_id = p.id ORDER BY at",
      [&](Statement& row) {
        int64_t& total = allocated[{row.integer(3), row.integer(4)}];
        total += row.integer(2);
        event(
            R"({{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": {}, "tid": 0, "ts": {}, "args": {{"Addr": {}, "Bytes": {}, "Total Allocated": {}, "Device Type": {}, "Device Id": {}}}}})",
            m_pid, at(row.integer(0)), row.integer(1), row.integer(2), total, row.integer(3), row.integer(4));
      });
}

Status Writer::process(const Process& process) {
  m_process = &process;
  m_pid = process.pid;
  // Processes of two hosts may share a pid.
  const auto sharesPid = [&](const Process& other) { return other.id != process.id && other.pid == process.pid; };
  if (!m_oneProcess && std::ranges::any_of(m_trace.processes(), sharesPid))
    m_pid = static_cast<int64_t>(static_cast<uint64_t>(m_pid) + (static_cast<uint64_t>(process.id.value()) << 40));
  m_launched.clear();
  m_places.clear();
  m_tids.clear();
  names(process);
  for (const auto part : {&Writer::hostEvents, &Writer::rangeEvents, &Writer::operatorEvents, &Writer::loadCollectives,
                          &Writer::gpuEvents, &Writer::otherEvents}) {
    if (Status done = (this->*part)(); !done.ok()) return done;
  }
  return Unit{};
}

std::string fileNameOf(const Process& process) {
  return process.rank ? fmt::format("rank{}.json.gz", *process.rank)
                      : fmt::format("pid{}-{}.json.gz", process.pid, process.id.value());
}

}  // namespace

Result<ExportResult> exportChrome(Trace& trace, const ChromeOptions& options) {
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return snapshot.status().error();
  ExportResult result;
  const auto writeFile = [&](const std::string& path, const Process* only) -> Status {
    auto out = OutputFile::create(path, options.replace);
    if (!out.ok()) return out.error();
    Writer writer(trace, out.value(), only != nullptr);
    writer.begin(only);
    for (const Process& process : trace.processes()) {
      if (only && process.id != only->id) continue;
      if (Status done = writer.process(process); !done.ok()) return done;
    }
    writer.end();
    result.events += writer.events();
    return out.value().finish();
  };
  if (!options.isFolder) {
    if (const Status done = writeFile(options.output, nullptr); !done.ok()) return done.error();
    result.files.push_back(options.output);
    return result;
  }
  std::vector<std::string> names;
  for (const Process& process : trace.processes()) {
    std::string name = fileNameOf(process);
    if (std::ranges::find(names, name) != names.end()) {  // a rank that is there twice
      name = fmt::format("pid{}-{}.json.gz", process.pid, process.id.value());
    }
    names.push_back(std::move(name));
  }
  auto folder = OutputFolder::create(options.output, names, options.replace);
  if (!folder.ok()) return folder.error();
  size_t number = 0;
  for (const Process& process : trace.processes()) {
    const std::string& name = names[number++];
    if (const Status done = writeFile(folder.value().place(name), &process); !done.ok()) return done.error();
    result.files.push_back((std::filesystem::path(options.output) / name).string());
  }
  if (const Status done = folder.value().finish(); !done.ok()) return done.error();
  return result;
}

}  // namespace plumb::exports
