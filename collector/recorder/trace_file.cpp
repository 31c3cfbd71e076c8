// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "collector/schema/schema.h"

namespace plumb::recorder {

namespace {

constexpr std::chrono::seconds kReadersPatience{10};           // a report of a large file holds it for seconds
constexpr std::chrono::milliseconds kConnectionPatience{500};  // the log is empty by then: the file alone is whole
constexpr useconds_t kPauseUs = 10'000;

// Moves the log's rows into the file, onto the disk. False: a reader's transaction needs the log.
Result<bool> emptyLog(Database& database) {
  auto checkpoint = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  if (!checkpoint.ok()) return checkpoint.error();
  if (checkpoint.value().next()) return checkpoint.value().integer(0) == 0;
  if (database.isBusy()) return false;
  return Error{database.lastError()};
}

// Readers come and go: tried again until none is there, but not for ever. A log that stays is complete as well.
Status foldLog(Database& database) {
  using Clock = std::chrono::steady_clock;
  (void)database.execute("PRAGMA synchronous=FULL; PRAGMA busy_timeout=500;");
  for (const auto end = Clock::now() + kReadersPatience;; ::usleep(kPauseUs)) {
    const Result<bool> emptied = emptyLog(database);
    if (!emptied.ok()) return emptied.error();
    if (emptied.value()) break;
    if (Clock::now() >= end) return Unit{};
  }
  // Every open reader is in its way, even one that reads nothing just now. Readers are locked out meanwhile, so it does
  // not wait for the disk: all rows are there by now, and the file opens with either header.
  (void)database.execute("PRAGMA synchronous=OFF;");
  const auto end = Clock::now() + kConnectionPatience;
  while (database.queryText("PRAGMA journal_mode=DELETE") != "delete" && Clock::now() < end) ::usleep(kPauseUs);
  return Unit{};
}

// What is said of a complete file.
Result<std::string> foldLogOfComplete(Database& database, const std::string& path, bool hadLog) {
  if (const Status folded = foldLog(database); !folded.ok()) {
    return Error{fmt::format("Cannot fold {}-wal into {}: {}.", path, path, folded.error().message)};
  }
  if (!hadLog) return fmt::format("{} is complete; nothing to do.", path);
  if (hasLog(path)) {
    return Error{fmt::format(
        "{} is complete, but a reader holds it: {}-wal belongs to the file; try again when the reader has ended.", path,
        path)};
  }
  return fmt::format("{} is complete; its write-ahead log {}-wal has been folded in.", path, path);
}

Status prepareNew(Database& database) {
  // synchronous OFF: no wait for the disk while recording. Committed batches survive the death of the recorder and of
  // the targets in any case (the kernel has them); only a crash of the machine could harm the file, and a wait of
  // seconds on a busy disk would cost events. finishTraceFile makes the file durable.
  const std::string header = fmt::format(
      "PRAGMA page_size=8192; PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=4000;"
      "PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY; PRAGMA application_id={}; PRAGMA user_version={};",
      schema::kApplicationId, schema::kVersion);
  if (Status status = database.execute(header); !status.ok()) return status;
  std::string tables = "BEGIN;";
  tables += schema::tablesSql();
  tables += schema::viewsSql();
  // The write-ahead log comes after the tables, so that the file itself says from the start what it is.
  tables += "COMMIT; PRAGMA journal_mode=WAL;";
  return database.execute(tables);
}

Result<TraceFile> createAt(const std::string& path, int fd) {
  FileLock lock(fd);
  ::flock(fd, LOCK_EX | LOCK_NB);  // new and ours; a file system without flock loses only the check in recoverTraceFile
  auto database = Database::open(path);
  Status status = database.ok() ? prepareNew(database.value()) : Status(database.error());
  if (!status.ok()) {
    removeTraceFile(path);
    return Error{fmt::format("Cannot write the trace file {}: {}.", path, status.error().message)};
  }
  return TraceFile{std::move(lock), path, std::move(database).value()};
}

std::string nthName(const std::string& path, int n) {
  const std::filesystem::path p(path);
  if (n == 1) return path;
  return (p.parent_path() / fmt::format("{}-{}{}", p.stem().string(), n, p.extension().string())).string();
}

// By recoverTraceFile(), completely, of all that this version would do.
bool isRecovered(Database& database) {
  constexpr std::string_view kIndex = "CREATE INDEX";
  size_t indexes = 0;
  const std::string_view sql = schema::indexesSql();
  for (size_t at = sql.find(kIndex); at != std::string_view::npos; at = sql.find(kIndex, at + 1)) ++indexes;
  return database.queryText("PRAGMA journal_mode") == "delete" &&
         database.queryText("SELECT 1 FROM diagnostic WHERE code = 'interrupted'") == "1" &&
         database.queryText(fmt::format(
             "SELECT count(*) >= {} FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL", indexes)) == "1";
}

// Takes the lock where nobody has it. A recorder whose run has just ended may hold it a moment longer than its launcher
// waits.
bool isHeldByRecorder(int fd) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{1};
  for (const auto end = Clock::now() + kPatience;; ::usleep(kPauseUs)) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return false;
    if (Clock::now() >= end) return true;
  }
}

}  // namespace

void removeTraceFile(const std::string& path) noexcept {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((path + suffix).c_str());
}

bool hasLog(const std::string& path) noexcept {
  std::error_code failed;
  const auto size = std::filesystem::file_size(path + "-wal", failed);
  return !failed && size > 0;
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (m_fd >= 0 && this != &other) ::close(m_fd);
  m_fd = std::exchange(other.m_fd, -1);
  return *this;
}

FileLock::~FileLock() {
  if (m_fd >= 0) ::close(m_fd);
}

Result<TraceFile> createTraceFile(const std::string& path, NameTaken nameTaken) {
  constexpr int kMostNames = 10'000;
  for (int n = 1; n <= (nameTaken == NameTaken::kTakeNext ? kMostNames : 1); ++n) {
    const std::string name = nthName(path, n);
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd >= 0) return createAt(name, fd);
    if (errno != EEXIST) {
      return Error{
          fmt::format("Cannot create the trace file {}: {}; name another place with -o.", name, std::strerror(errno))};
    }
  }
  return Error{fmt::format("The file {} exists already; name another one with -o, or remove it.", path)};
}

Status finishTraceFile(Database& database, bool complete) {
  // Every step is tried: without an index the file is only slower, without the last one it has a log beside it.
  Status result = Unit{};
  const auto attempt = [&](const std::string& sql) {
    Status status = database.execute(sql);
    if (!status.ok() && result.ok()) result = status;
    return status.ok();
  };
  std::string indexes = "BEGIN IMMEDIATE;";
  indexes += schema::indexesSql();
  indexes += "COMMIT;";
  if (!attempt(indexes)) (void)database.execute("ROLLBACK");
  (void)database.execute("PRAGMA analysis_limit=400; ANALYZE;");
  if (complete && result.ok()) attempt("UPDATE meta SET value = '1' WHERE key = 'complete'");
  if (const Status folded = foldLog(database); !folded.ok() && result.ok()) result = folded;
  return result;
}

Result<std::string> recoverTraceFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return Error{fmt::format("Cannot open {}: {}.", path, std::strerror(errno))};
  const FileLock lock(fd);
  if (isHeldByRecorder(fd)) {
    return Error{
        fmt::format("{} is still being recorded; wait for the end of the run, or stop its plumb-recorder.", path)};
  }
  const bool hadLog = hasLog(path);
  auto opened = Database::open(path);
  if (!opened.ok()) return Error{fmt::format("Cannot open {}: {}.", path, opened.error().message)};
  Database& database = opened.value();
  if (database.queryText("PRAGMA application_id") != std::to_string(schema::kApplicationId)) {
    return Error{fmt::format("{} is not a Plumbline trace.", path)};
  }
  if (const std::string version = database.queryText("PRAGMA user_version");
      version != std::to_string(schema::kVersion)) {
    return Error{
        fmt::format("{} has format version {}, this recorder completes version {}; use the plumb of the version "
                    "that recorded it.",
                    path, version, schema::kVersion)};
  }
  if (database.queryText("SELECT value FROM meta WHERE key = 'complete'") == "1") {
    return foldLogOfComplete(database, path, hadLog);
  }
  if (isRecovered(database)) {
    return fmt::format("{} has been finished before; nothing to do. Its last moments are missing.", path);
  }
  Status status = database.execute(
      "INSERT INTO diagnostic(process_id, start_ns, severity, lane, code, count, message) "
      "SELECT NULL, coalesce((SELECT max(start_ns) FROM api_call), 0), 'warning', 'recorder', 'interrupted', 1, "
      "'The recorder was stopped before it could finish: what it had not stored yet, at most about a second, is "
      "missing, "
      "and ranges that were open then are not in the file.' "
      "WHERE NOT EXISTS (SELECT 1 FROM diagnostic WHERE code IN ('interrupted', 'write_failed'))");
  if (status.ok()) status = finishTraceFile(database, false);
  if (!status.ok()) return Error{fmt::format("Cannot complete {}: {}.", path, status.error().message)};
  if (hasLog(path)) {
    return fmt::format(
        "{}: the indexes are built, but a reader holds it: {}-wal belongs to the file; its last moments are missing.",
        path, path);
  }
  return fmt::format("{}: the indexes are built and the write-ahead log is folded in; its last moments are missing.",
                     path);
}

}  // namespace plumb::recorder
