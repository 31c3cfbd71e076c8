// SPDX-License-Identifier: Apache-2.0
#include "collector/transport/dead_sessions.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "collector/transport/protocol.h"

namespace plumb::transport {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "plumb-", kRandom = "XXXXXX";

bool isSessionName(std::string_view name) {
  return name.size() == kPrefix.size() + kRandom.size() && name.starts_with(kPrefix) &&
         std::ranges::all_of(name.substr(kPrefix.size()), [](unsigned char c) { return std::isalnum(c) != 0; });
}

// A directory of this user's, closed to others, that was last changed before `latest`.
bool isOurs(const std::string& path, std::time_t latest) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & 077) == 0 && status.st_mtime < latest;
}

bool holdsOnlyASession(const std::string& path) {
  std::error_code failed;
  fs::directory_iterator entries(path, failed);
  while (!failed && entries != fs::directory_iterator()) {
    const std::string name = entries->path().filename().string();
    const fs::file_type type = entries->symlink_status(failed).type();
    const bool isKnown =
        (name == kSocketName && type == fs::file_type::socket) || (name == kLockName && type == fs::file_type::regular);
    if (failed || !isKnown) return false;
    entries.increment(failed);
  }
  return !failed;
}

// Whether the socket is there and nobody listens on it.
bool isDead(const std::string& path) {
  const std::string name = path + "/" + kSocketName;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  // A recorder that lives takes this for a target that had nothing to say.
  const int result = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const bool isRefused = result != 0 && errno == ECONNREFUSED;
  ::close(fd);
  return isRefused;
}

}  // namespace

std::string sessionsFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder == nullptr || *folder == '\0' ? "/tmp" : folder;
}

std::string sessionPattern() { return std::string(kPrefix).append(kRandom); }

void removeDeadSessions(std::chrono::seconds age) {
  const std::string folder = sessionsFolder();
  // Between mkdtemp() and listen() a directory looks like a dead one.
  const std::time_t latest = std::time(nullptr) - static_cast<std::time_t>(age.count());
  std::vector<std::string> dead;
  std::error_code failed;
  fs::directory_iterator entries(folder, failed);
  while (!failed && entries != fs::directory_iterator()) {
    const std::string path = entries->path().string();
    if (isSessionName(entries->path().filename().string()) && isOurs(path, latest) && holdsOnlyASession(path) &&
        isDead(path)) {
      dead.push_back(path);
    }
    entries.increment(failed);
  }
  for (const std::string& path : dead) {
    ::unlink((path + "/" + kSocketName).c_str());
    ::unlink((path + "/" + kLockName).c_str());
    ::rmdir(path.c_str());
  }
}

}  // namespace plumb::transport
