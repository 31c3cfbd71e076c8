// SPDX-License-Identifier: Apache-2.0
// Which directories in TMPDIR are taken for those of recorders that were killed.
#include "collector/transport/dead_sessions.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "collector/transport/protocol.h"

namespace plumb::transport {
namespace {

namespace fs = std::filesystem;

class DeadSessions : public testing::Test {
 protected:
  DeadSessions() {
    std::string pattern = fs::temp_directory_path() / "sessions-XXXXXX";
    m_folder = ::mkdtemp(pattern.data());
    ::setenv("TMPDIR", m_folder.c_str(), 1);
  }
  ~DeadSessions() override {
    ::unsetenv("TMPDIR");
    fs::remove_all(m_folder);
  }
  std::string session(const std::string& name) {
    const std::string path = m_folder + "/" + name;
    ::mkdir(path.c_str(), 0700);
    return path;
  }
  // A bound socket, on which somebody listens as long as the descriptor is open.
  static int listenIn(const std::string& session) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (session + "/" + kSocketName).c_str());
    const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd, 8), 0);
    return fd;
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(m_folder)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  static constexpr std::chrono::seconds kAnyAge{-5};
  std::string m_folder;
};

TEST_F(DeadSessions, OnlyTheOneWithoutARecorderGoes) {
  const std::string dead = session("plumb-aaaaa1"), living = session("plumb-bbbbb2");
  ::close(listenIn(dead));
  std::ofstream(dead + "/" + kLockName);
  const int fd = listenIn(living);
  removeDeadSessions(kAnyAge);
  EXPECT_EQ(left(), (std::vector<std::string>{"plumb-bbbbb2"}));
  ::close(fd);
}

TEST_F(DeadSessions, WhatIsNoSessionOrNotSurelyDeadStays) {
  ::close(listenIn(session("plumb-young1")));
  removeDeadSessions(std::chrono::hours(1));
  EXPECT_EQ(left(), (std::vector<std::string>{"plumb-young1"}));
  fs::remove_all(m_folder + "/plumb-young1");

  ::close(listenIn(session("plumb-longer-name")));
  const std::string more = session("plumb-more01");
  ::close(listenIn(more));
  std::ofstream(more + "/notes") << "the user's";
  const std::string open = session("plumb-open01");
  ::close(listenIn(open));
  ::chmod(open.c_str(), 0755);
  session("plumb-empty1");  // no socket: one that is being made, or somebody else's
  fs::create_symlink(open, m_folder + "/plumb-link01");
  const std::vector<std::string> all = left();
  removeDeadSessions(kAnyAge);
  EXPECT_EQ(left(), all);
}

}  // namespace
}  // namespace plumb::transport
