// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "collector/schema/schema.h"

namespace plumb {
namespace {

// Runs a query and gives each row to `take`.
template <class Take>
Status forEachRow(Database& database, std::string_view sql, Take&& take) {
  auto rows = database.prepare(sql);
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) take(rows.value());
  return rows.value().status();
}

Status readInfo(Database& database, TraceInfo& info) {
  return forEachRow(database, "SELECT key, value FROM main.meta", [&](Statement& row) {
    const std::string_view key = row.text(0);
    if (key == "host") info.host = row.text(1);
    if (key == "command") info.command = row.text(1);
    if (key == "recorder_version") info.recorderVersion = row.text(1);
    constexpr int64_t kLatest = int64_t{1} << 61;  // 2043; anything beyond is damage, and would overflow sums
    if (key == "session_start_realtime_ns" && row.integer(1) > 0 && row.integer(1) < kLatest) {
      info.sessionStartRealtimeNs = row.integer(1);
    }
    if (key == "complete") info.complete = row.text(1) == "1";
  });
}

Status readProcesses(Database& database, std::vector<Process>& processes) {
  return forEachRow(
      database,
      "SELECT p.id, p.rank, p.local_rank, p.world_size, p.pid, h.text, s.text, c.text, p.start_ns, p.end_ns, p.ended"
      " FROM main.process p LEFT JOIN main.string h ON h.id = p.host_id LEFT JOIN main.string s ON s.id = p.program_id"
      " LEFT JOIN main.string c ON c.id = p.command_id ORDER BY p.rank IS NULL, p.rank, p.pid, p.id",
      [&](Statement& row) {
        Process p;
        p.id = row.id<ProcessId>(0);
        p.rank = row.optionalInteger(1);
        p.localRank = row.optionalInteger(2);
        p.worldSize = row.optionalInteger(3);
        p.pid = row.integer(4);
        p.host = row.text(5);
        p.program = row.text(6);
        p.command = row.text(7);
        p.start = row.time(8);
        if (!row.isNull(9)) p.end = row.time(9);
        p.ended = row.text(10);
        processes.push_back(std::move(p));
      });
}

Status readDevices(Database& database, std::vector<Device>& devices) {
  return forEachRow(database,
                    "SELECT d.id, d.process_id, d.ordinal, s.text, d.kind, d.uuid, d.compute_major, d.compute_minor,"
                    " d.multiprocessor_count, d.memory_bytes, d.memory_bandwidth_bytes_per_s, d.core_clock_hz"
                    " FROM main.device d LEFT JOIN main.string s ON s.id = d.name_id ORDER BY d.id",
                    [&](Statement& row) {
                      Device d;
                      d.id = row.id<DeviceId>(0);
                      d.process = row.id<ProcessId>(1);
                      d.ordinal = row.integer(2);
                      d.name = row.text(3);
                      d.isSoftware = row.text(4) == "software";
                      d.uuid = row.text(5);
                      d.computeMajor = row.integer(6);
                      d.computeMinor = row.integer(7);
                      d.multiprocessorCount = row.integer(8);
                      d.memoryBytes = row.integer(9);
                      d.memoryBandwidthBytesPerSecond = row.integer(10);
                      d.coreClockHz = row.integer(11);
                      devices.push_back(std::move(d));
                    });
}

Status readStreams(Database& database, std::vector<Stream>& streams) {
  return forEachRow(database,
                    "SELECT t.id, t.process_id, t.device_id, t.context, t.number, s.text FROM main.stream t"
                    " LEFT JOIN main.string s ON s.id = t.name_id ORDER BY t.id",
                    [&](Statement& row) {
                      Stream s;
                      s.id = row.id<StreamId>(0);
                      s.process = row.id<ProcessId>(1);
                      if (!row.isNull(2)) s.device = row.id<DeviceId>(2);
                      s.context = row.integer(3);
                      s.number = row.integer(4);
                      s.name = row.text(5).empty() ? fmt::format("stream {}", s.number) : std::string(row.text(5));
                      streams.push_back(std::move(s));
                    });
}

Status readThreads(Database& database, std::vector<Thread>& threads) {
  return forEachRow(
      database,
      "SELECT t.id, t.process_id, t.tid, s.text FROM main.thread t LEFT JOIN main.string s ON s.id = t.name_id ORDER "
      "BY t.id",
      [&](Statement& row) {
        threads.push_back({row.id<ThreadId>(0), row.id<ProcessId>(1), row.integer(2), std::string(row.text(3))});
      });
}

template <class Row, class RowId>
const Row* findById(const std::vector<Row>& rows, RowId id) {
  const auto found = std::find_if(rows.begin(), rows.end(), [id](const Row& row) { return row.id == id; });
  return found == rows.end() ? nullptr : &*found;
}

// The number in the file's header decides what it is read as.
Status findContradiction(Database& database, std::vector<Diagnostic>& found) {
  return forEachRow(database, "SELECT value FROM main.meta WHERE key = 'schema_version'", [&](Statement& row) {
    const std::string expected = std::to_string(schema::kVersion);
    if (row.text(0) == expected) return;
    constexpr size_t kMostShown = 40;
    found.push_back({.process = std::nullopt,
                     .start = TimePoint(0),
                     .severity = "warning",
                     .lane = "file",
                     .code = "schema_version",
                     .count = 1,
                     .message = fmt::format("The file contradicts itself: its header says schema {}, its table meta "
                                            "'{}'. It was changed by another program; it is read as schema {}.",
                                            expected, row.text(0).substr(0, kMostShown), expected)});
  });
}

}  // namespace

std::string Process::label() const {
  if (rank) return fmt::format("rank {}", *rank);
  return pid == 0 ? program : fmt::format("{} (pid {})", program, pid);  // 0: of a file that does not tell it
}

Trace::Trace(Database database) : m_database(std::make_unique<Database>(std::move(database))) {}

Result<Trace> Trace::open(const std::string& path) { return open(path, OpenOptions{}); }

Result<Trace> Trace::open(const std::string& path, const OpenOptions& options) {
  auto database = Database::open(path, options.busyTimeout, options.views);
  if (!database.ok()) return database.error();
  Trace trace(std::move(database).value());
  const Snapshot snapshot(trace);  // one lock for all that is read
  if (const Status read = snapshot.status().ok() ? trace.refresh() : snapshot.status(); !read.ok()) {
    // SQLite's own words do not say of which file they are.
    const std::string& message = read.error().message;
    if (message.ends_with('.') || message.find(path) != std::string::npos) return read.error();
    return Error{fmt::format("{} cannot be read: {}.", path, message)};
  }
  return trace;
}

Trace Trace::attach(Database database) { return Trace(std::move(database)); }

Status Trace::prepareAttached() {
  if (Status prepared = m_database->prepareAttached(); !prepared.ok()) return prepared;
  return refresh();
}

const Process* Trace::process(ProcessId id) const { return findById(m_processes, id); }
const Device* Trace::device(DeviceId id) const { return findById(m_devices, id); }

Status Trace::refresh() {
  TraceInfo info;
  std::vector<Process> processes;
  std::vector<Device> devices;
  std::vector<Stream> streams;
  std::vector<Thread> threads;
  Database& database = *m_database;
  if (Status read = readInfo(database, info); !read.ok()) return read;
  if (Status read = readProcesses(database, processes); !read.ok()) return read;
  if (Status read = readDevices(database, devices); !read.ok()) return read;
  if (Status read = readStreams(database, streams); !read.ok()) return read;
  if (Status read = readThreads(database, threads); !read.ok()) return read;
  m_info = std::move(info);
  m_processes = std::move(processes);
  m_devices = std::move(devices);
  m_streams = std::move(streams);
  m_threads = std::move(threads);
  return Unit{};
}

Result<std::vector<Diagnostic>> Trace::diagnostics() {
  std::vector<Diagnostic> found;
  const Status read =
      forEachRow(*m_database,
                 "SELECT process_id, start_ns, severity, lane, code, count, message FROM main.diagnostic"
                 " ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, id",
                 [&](Statement& row) {
                   Diagnostic d;
                   if (!row.isNull(0)) d.process = row.id<ProcessId>(0);
                   d.start = row.time(1);
                   d.severity = row.text(2);
                   d.lane = row.text(3);
                   d.code = row.text(4);
                   d.count = row.integer(5);
                   d.message = row.text(6);
                   found.push_back(std::move(d));
                 });
  if (!read.ok()) return read.error();
  std::vector<Diagnostic> own;
  if (Status asked = findContradiction(*m_database, own); !asked.ok()) return asked.error();
  const auto behindErrors = std::ranges::find_if(found, [](const Diagnostic& d) { return d.severity != "error"; });
  found.insert(behindErrors, own.begin(), own.end());
  return found;
}

std::string_view Trace::text(StringId id) {
  const auto known = m_texts.find(id);
  if (known != m_texts.end()) return known->second;
  if (!m_textById) {
    auto statement = m_database->prepare("SELECT text FROM main.string WHERE id = ?");
    if (!statement.ok()) return {};
    m_textById.emplace(std::move(statement).value());
  }
  m_textById->bind(1, id.value());
  std::string text;
  if (m_textById->next()) text = m_textById->text(0);
  m_textById->reset();
  return m_texts.emplace(id, std::move(text)).first->second;
}

Result<std::optional<StringId>> Trace::findText(std::string_view text) {
  auto statement = m_database->prepare("SELECT id FROM main.string WHERE text = ?");
  if (!statement.ok()) return statement.error();
  statement.value().bind(1, text);
  std::optional<StringId> found;
  if (statement.value().next()) found = statement.value().id<StringId>(0);
  if (const Status status = statement.value().status(); !status.ok()) return status.error();
  return found;
}

}  // namespace plumb
