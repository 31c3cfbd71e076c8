// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/staging.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "collector/schema/taken.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

// What SQLite makes beside a file that it writes.
constexpr std::string_view kCompanions[] = {"-journal", "-wal", "-shm"};
constexpr size_t kLongestCompanion = 8;

// What a signal handler can read: paths of stagings, in places that are never moved.
struct Registered {
  std::atomic<bool> isUsed{false}, isReady{false};
  std::array<char, 4096> path{};
};
std::array<Registered, 16> registered;

void enroll(const std::string& path) {
  for (Registered& entry : registered) {
    if (path.size() + kLongestCompanion >= entry.path.size() || entry.isUsed.exchange(true)) continue;
    std::memcpy(entry.path.data(), path.c_str(), path.size() + 1);
    entry.isReady = true;
    return;
  }
}
void strike(const std::string& path) {
  for (Registered& entry : registered) {
    if (!entry.isReady || path != entry.path.data()) continue;
    entry.isReady = false;
    entry.isUsed = false;
    return;
  }
}

// Removes a file, or a folder with what is in it. For signal handlers: plain system calls, no memory but the stack.
void removeTree(int at, const char* name, int depth) {
  constexpr int kDeepest = 8;
  if (::unlinkat(at, name, 0) == 0 || depth > kDeepest) return;
  const int folder = ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  struct Entry {  // linux_dirent64
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[1];
  };
  alignas(Entry) std::array<char, 4096> block;
  // Entries that are removed change what follows, so it is read from the start until nothing is left.
  for (int round = 0; round < 1000; ++round) {
    ::lseek(folder, 0, SEEK_SET);
    bool isEmpty = true;
    const long bytes = ::syscall(SYS_getdents64, folder, block.data(), block.size());
    for (long i = 0; i < bytes;) {
      const auto* entry = reinterpret_cast<const Entry*>(block.data() + i);
      if (std::strcmp(entry->name, ".") != 0 && std::strcmp(entry->name, "..") != 0) {
        isEmpty = false;
        removeTree(folder, entry->name, depth + 1);
      }
      i += entry->length;
    }
    if (isEmpty) break;
  }
  ::close(folder);
  ::unlinkat(at, name, AT_REMOVEDIR);
}

// The same of a staging with its companions. Room for their names is behind the path.
void removeRegistered(const std::array<char, 4096>& path) {
  removeTree(AT_FDCWD, path.data(), 0);
  std::array<char, 4096> name = path;
  const size_t length = std::strlen(name.data());
  for (const std::string_view companion : kCompanions) {
    std::memcpy(name.data() + length, companion.data(), companion.size());
    name[length + companion.size()] = '\0';
    ::unlink(name.data());
  }
}

void removeAllAndDie(int signal) {
  removeStagings();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Locks what is there; -1: somebody else has it locked, or it cannot be told.
int lockExisting(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return -1;
}

bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

void removeCompanions(const std::string& path) {
  std::error_code ignored;
  for (const std::string_view companion : kCompanions) fs::remove(path + std::string(companion), ignored);
}

bool hasCompanions(const std::string& path) {
  std::error_code failed;
  return std::ranges::any_of(kCompanions, [&](std::string_view companion) {
    return fs::exists(fs::symlink_status(path + std::string(companion), failed));
  });
}

void removeWithCompanions(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
  removeCompanions(path);
}

std::string_view withoutCompanion(std::string_view name) {
  for (const std::string_view companion : kCompanions) {
    if (name.ends_with(companion)) return name.substr(0, name.size() - companion.size());
  }
  return name;
}

// What processes left that were killed. `start`: of the names, without folders. A companion is made after its file and
// goes before it, so one that stands alone was left, too.
void removeLeftovers(const fs::path& folder, const std::string& start, bool isFolder) {
  std::error_code failed;
  std::set<std::string> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.empty() ? "." : folder, failed)) {
    const std::string name = entry.path().filename().string();
    const std::string_view own = isFolder ? name : withoutCompanion(name);
    if (!own.starts_with(start) || !isNumber(own.substr(start.size()))) continue;
    const fs::file_status status = entry.symlink_status(failed);
    if (isFolder ? !fs::is_directory(status) : !fs::is_regular_file(status)) continue;
    left.insert((entry.path().parent_path() / own).string());
  }
  for (const std::string& path : left) {
    const bool isAlone = !fs::exists(fs::symlink_status(path, failed));
    const int lock = isAlone ? -1 : lockExisting(path);
    if (lock < 0 && !isAlone) continue;
    removeWithCompanions(path);
    if (lock >= 0) ::close(lock);
  }
}

bool isSameFile(int fd, const std::string& path) {
  struct stat opened {
  }, there{};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

std::string withoutEndingSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Error systemError() { return Error{std::strerror(errno)}; }

bool isDatabase(const std::string& path) {
  constexpr std::string_view kStart = "SQLite format 3";
  std::array<char, kStart.size()> start{};
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), start.size()) && std::string_view(start.data(), start.size()) == kStart;
}

}  // namespace

Status checkPlace(const std::string& path, bool replace) {
  std::error_code ignored;
  const auto there = fs::status(path, ignored);
  if (!fs::exists(there)) return Unit{};
  if (!replace) return Error{takenText(path)};
  // A device or a pipe would be replaced by a file of its name.
  if (fs::is_regular_file(there)) return Unit{};
  return Error{fmt::format("{} is not a regular file: name another output with -o.", path)};
}

Status checkNotRead(const std::string& path, const std::vector<std::string>& read) {
  for (const std::string& file : read) {
    std::error_code ignored;
    if (!fs::equivalent(file, path, ignored)) continue;
    return Error{fmt::format("{} is the trace itself; name another output with -o.", path)};
  }
  return Unit{};
}

Result<Staging> Staging::create(const std::string& target, std::string_view word, bool isFolder) {
  std::error_code ignored;
  const bool isInside = isFolder && fs::is_directory(target, ignored);
  const fs::path place = isInside ? fs::path(target) : fs::path(target).parent_path();
  const std::string start =
      isInside ? fmt::format(".plumb-{}-", word) : fmt::format("{}.{}-", fs::path(target).filename().string(), word);
  removeLeftovers(place, start, isFolder);
  const std::string path = (place / fmt::format("{}{}", start, ::getpid())).string();
  enroll(path);  // before it is there, so that no signal comes between
  const auto failed = [&path](Error error) {
    strike(path);
    return error;
  };
  constexpr int kAttempts = 3;
  for (int i = 0; i < kAttempts; ++i) {
    int fd = -1;
    if (isFolder) {
      if (::mkdir(path.c_str(), 0777) != 0) return failed(systemError());
      fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } else {
      fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    }
    if (fd < 0) return failed(systemError());
    // Some file systems have no locks: then nobody tidies up there.
    (void)::flock(fd, LOCK_EX | LOCK_NB);
    // Another process may have taken it for a leftover before it was locked.
    if (isSameFile(fd, path)) return Staging(target, path, fd);
    ::close(fd);
  }
  return failed(Error{"another process removes what this one makes there"});
}

Result<Staging> Staging::file(const std::string& target, std::string_view word) { return create(target, word, false); }

Result<Staging> Staging::folder(const std::string& target, std::string_view word) {
  const std::string place = withoutEndingSlash(target);
  std::error_code failed;
  if (const fs::path parent = fs::path(place).parent_path(); !parent.empty()) fs::create_directories(parent, failed);
  if (failed) return Error{failed.message()};
  if (fs::exists(place, failed) && !fs::is_directory(place, failed)) return Error{"it is not a folder"};
  return create(place, word, true);
}

Staging::Staging(std::string target, std::string path, int lock)
    : m_target(std::move(target)), m_path(std::move(path)), m_lock(lock) {}

Staging::Staging(Staging&& other) noexcept
    : m_target(std::move(other.m_target)),
      m_path(std::exchange(other.m_path, {})),
      m_lock(std::exchange(other.m_lock, -1)) {}

Staging::~Staging() {
  if (!m_path.empty()) removeWithCompanions(m_path);
  forget();
}

void Staging::forget() noexcept {
  if (!m_path.empty()) strike(m_path);
  m_path.clear();
  if (m_lock >= 0) ::close(std::exchange(m_lock, -1));
}

Status Staging::publishFile(bool replace) {
  // SQLite would take a log that lies there for one of the new file. The old file goes before its log, without which it
  // may be half a change: a process that is killed meanwhile leaves no file rather than a wrong one.
  if (replace && isDatabase(m_target) && hasCompanions(m_target)) {
    if (::unlink(m_target.c_str()) != 0) return systemError();
    removeCompanions(m_target);
  } else if (std::error_code failed; isDatabase(m_path) && !fs::exists(fs::symlink_status(m_target, failed))) {
    removeCompanions(m_target);  // of a file that is gone
  }
  int result = -1;
  errno = EINVAL;
  if (!replace) {
    // Never over a file that came there meanwhile; file systems that cannot promise that get the plain move.
    result = ::renameat2(AT_FDCWD, m_path.c_str(), AT_FDCWD, m_target.c_str(), RENAME_NOREPLACE);
  }
  if (result != 0 && (errno == EINVAL || errno == ENOSYS)) result = ::rename(m_path.c_str(), m_target.c_str());
  if (result != 0) return systemError();
  forget();
  return Unit{};
}

Status Staging::publishFolder(const std::vector<std::string>& names, bool replace) {
  std::error_code failed;
  if (!fs::exists(m_target, failed)) {
    if (::rename(m_path.c_str(), m_target.c_str()) != 0) return systemError();
    forget();
    return Unit{};
  }
  std::vector<std::string> made;
  for (const fs::directory_entry& entry : fs::directory_iterator(m_path, failed)) {
    made.push_back(entry.path().filename().string());
  }
  if (failed) return Error{failed.message()};
  for (const std::string& name : made) {
    if (!replace && fs::exists(fs::path(m_target) / name, failed)) return Error{name + " exists there already"};
  }
  if (replace) {
    for (const std::string& name : names) fs::remove_all(fs::path(m_target) / name, failed);
  }
  for (const std::string& name : made) {
    fs::rename(fs::path(m_path) / name, fs::path(m_target) / name, failed);
    if (failed) return Error{failed.message()};
  }
  fs::remove_all(m_path, failed);
  forget();
  return Unit{};
}

void removeStagings() noexcept {
  for (const Registered& entry : registered) {
    if (entry.isReady) removeRegistered(entry.path);
  }
}

void removeStagingsWhenInterrupted() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // nohup's and a shell's wish that it is ignored stays.
    if (::signal(signal, removeAllAndDie) == SIG_IGN) ::signal(signal, SIG_IGN);
  }
}

}  // namespace plumb
