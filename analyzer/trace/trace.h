// SPDX-License-Identifier: Apache-2.0
// A recorded run, open for reading: who took part (read at once) and the database with everything else. Not
// thread-safe; a background job opens its own.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/trace/database.h"
#include "analyzer/trace/ids.h"
#include "analyzer/trace/time.h"
#include "collector/schema/result.h"

namespace plumb {

class SharedLoads;

struct Process {
  ProcessId id;
  std::optional<int64_t> rank;  // none: the program set none
  std::optional<int64_t> localRank;
  std::optional<int64_t> worldSize;
  int64_t pid = 0;
  std::string host;
  std::string program;
  std::string command;
  TimePoint start;
  std::optional<TimePoint> end;
  std::string ended;  // "exit", "lost", "": running

  // "rank 3", or "train (pid 4711)" for a process without a rank.
  [[nodiscard]] std::string label() const;
};

struct Device {
  DeviceId id;
  ProcessId process;
  int64_t ordinal = 0;
  std::string name;
  bool isSoftware = false;  // durations are CPU time
  std::string uuid;
  int64_t computeMajor = 0, computeMinor = 0;  // 0.0: not known
  int64_t multiprocessorCount = 0;             // this and the following: 0 when not known
  int64_t memoryBytes = 0;
  int64_t memoryBandwidthBytesPerSecond = 0;
  int64_t coreClockHz = 0;
};

struct Stream {
  StreamId id;
  ProcessId process;
  std::optional<DeviceId> device;
  int64_t context = 0;
  int64_t number = 0;
  std::string name;  // the program's, else "stream 7"
};

struct Thread {
  ThreadId id;
  ProcessId process;
  int64_t tid = 0;
  std::string name;  // "" when it has none
};

struct Diagnostic {
  std::optional<ProcessId> process;
  TimePoint start;
  std::string severity;  // "error" "warning" "info"
  std::string lane;
  std::string code;
  int64_t count = 0;
  std::string message;
};

// Facts about the file (table meta).
struct TraceInfo {
  std::string host;
  std::string command;
  std::string recorderVersion;
  int64_t sessionStartRealtimeNs = 0;  // 0: not known
  bool complete = false;               // false: being recorded now, or its recorder was killed
};

class Trace {
 public:
  struct OpenOptions {
    std::chrono::milliseconds busyTimeout{5000};
    FileViews views = FileViews::Seen;
  };

  [[nodiscard]] static Result<Trace> open(const std::string& path);
  [[nodiscard]] static Result<Trace> open(const std::string& path, const OpenOptions& options);

  // A trace on somebody else's connection (Database::attach); read nothing of it before prepareAttached() has
  // succeeded.
  [[nodiscard]] static Trace attach(Database database);
  [[nodiscard]] Status prepareAttached();
  // Ends statements that are kept for the next use: a connection can be closed only without any.
  void releaseStatements() { m_textById.reset(); }

  // Reads info, processes, devices, streams and threads again (a file that is still being recorded grows).
  [[nodiscard]] Status refresh();

  [[nodiscard]] const std::string& path() const { return m_database->path(); }
  [[nodiscard]] const TraceInfo& info() const { return m_info; }
  [[nodiscard]] const std::vector<Process>& processes() const { return m_processes; }  // by rank, without rank last
  [[nodiscard]] const std::vector<Device>& devices() const { return m_devices; }
  [[nodiscard]] const std::vector<Stream>& streams() const { return m_streams; }
  [[nodiscard]] const std::vector<Thread>& threads() const { return m_threads; }
  [[nodiscard]] const Process* process(ProcessId id) const;  // null: no such row
  [[nodiscard]] const Device* device(DeviceId id) const;
  [[nodiscard]] Result<std::vector<Diagnostic>> diagnostics();

  // The text of table string; "" for an id that the file lacks. Valid as long as the Trace.
  [[nodiscard]] std::string_view text(StringId id);
  // The id of a text, none when the file does not have it.
  [[nodiscard]] Result<std::optional<StringId>> findText(std::string_view text);

  // Rows of a query, for the analyses. The text must come from this program, never from the user (that is `plumb
  // query`).
  [[nodiscard]] Result<Statement> query(std::string_view sql) { return m_database->prepare(sql); }
  [[nodiscard]] Database& database() { return *m_database; }

  // What is read of the file from now on is shared with the other traces of the same file that are given `loads`.
  void shareLoads(std::shared_ptr<SharedLoads> loads) { m_loads = std::move(loads); }
  [[nodiscard]] SharedLoads* sharedLoads() const { return m_loads.get(); }  // null: nothing is shared

 private:
  explicit Trace(Database database);

  std::unique_ptr<Database> m_database;  // stable address: statements and interrupt() outlive a move of the Trace
  std::optional<Statement> m_textById;
  std::unordered_map<StringId, std::string> m_texts;
  TraceInfo m_info;
  std::vector<Process> m_processes;
  std::vector<Device> m_devices;
  std::vector<Stream> m_streams;
  std::vector<Thread> m_threads;
  std::shared_ptr<SharedLoads> m_loads;
};

// Keeps one state of the file in view while it lives; a growing file's log cannot be folded in meanwhile, so keep it
// short.
class Snapshot {
 public:
  explicit Snapshot(Trace& trace) : m_database(trace.database()), m_status(m_database.beginSnapshot()) {}
  ~Snapshot() {
    if (m_status.ok()) m_database.endSnapshot();
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  [[nodiscard]] const Status& status() const { return m_status; }

 private:
  Database& m_database;
  Status m_status;
};

}  // namespace plumb
