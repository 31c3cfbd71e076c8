// SPDX-License-Identifier: Apache-2.0
// The life of the file: made whole or not at all, readable by others while it grows, one single file when it is
// complete.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "collector/recorder/storage.h"
#include "collector/schema/result.h"

namespace plumb::recorder {

// Keeps the file locked (flock) against a second recorder; released with the object, which must outlive the Database:
// closing any descriptor of the file would drop SQLite's own locks.
class FileLock {
 public:
  FileLock() noexcept = default;
  explicit FileLock(int fd) noexcept : m_fd(fd) {}
  FileLock(FileLock&& other) noexcept : m_fd(std::exchange(other.m_fd, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  int m_fd = -1;
};

struct TraceFile {
  FileLock lock;
  std::string path;
  Database database;
};

enum class NameTaken {
  kRefuse,
  kTakeNext,  // run.sqlite -> run-2.sqlite, run-3.sqlite …
};

// A new file with all tables and views, open for writing. On an error nothing is left behind.
[[nodiscard]] Result<TraceFile> createTraceFile(const std::string& path, NameTaken nameTaken);

// The file and what SQLite keeps beside it.
void removeTraceFile(const std::string& path) noexcept;

// Rows lie in the write-ahead log beside the file, which belongs to it then.
[[nodiscard]] bool hasLog(const std::string& path) noexcept;

// Indexes, statistics, meta 'complete' (if asked for) and the write-ahead log folded into the file, on the disk. While
// readers hold the file it waits for them for some seconds; then the log stays: see hasLog().
[[nodiscard]] Status finishTraceFile(Database& database, bool complete);

// For a file whose recorder was killed: what finishTraceFile does, and a diagnostic; 'complete' stays 0. Of a
// complete one only its log is folded in, if it has one. Returns what it did, as a sentence.
[[nodiscard]] Result<std::string> recoverTraceFile(const std::string& path);

}  // namespace plumb::recorder
