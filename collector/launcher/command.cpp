// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/command.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "collector/launcher/group_witness.h"

namespace plumb::launcher {
namespace {

constexpr int kHeldBack[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) {
    result.push_back(const_cast<char*>(text.c_str()));
  }
  result.push_back(nullptr);
  return result;
}

sigset_t heldBack() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kHeldBack) {
    sigaddset(&set, number);
  }
  return set;
}

}  // namespace

struct CommandRun::Mask {
  sigset_t set;
  struct sigaction child;
  struct sigaction pipe;
};

CommandRun::CommandRun() : m_before(new Mask) {
  const sigset_t set = heldBack();
  sigprocmask(SIG_BLOCK, &set, &m_before->set);
  // Were it ignored (inherited), the command's end could not be waited for.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &m_before->child);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;  // nobody reads our closing line: no reason to end otherwise than the command
  sigaction(SIGPIPE, &ignore, &m_before->pipe);
}

CommandRun::~CommandRun() {
  sigaction(SIGCHLD, &m_before->child, nullptr);
  sigaction(SIGPIPE, &m_before->pipe, nullptr);
  sigprocmask(SIG_SETMASK, &m_before->set, nullptr);
  delete m_before;
}

Status CommandRun::start(const std::string& path, const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t standard;
  sigemptyset(&standard);
  if (m_before->pipe.sa_handler != SIG_IGN) {
    sigaddset(&standard, SIGPIPE);
  }
  posix_spawnattr_setsigdefault(&attributes, &standard);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &m_before->set);
  const int error = posix_spawnp(&m_pid, path.c_str(), nullptr, &attributes, pointers(arguments).data(),
                                 pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    m_pid = -1;
    return Error{fmt::format("Cannot run \"{}\": {}.", path, std::strerror(error))};
  }
  return Unit{};
}

int CommandRun::wait() {
  constexpr std::chrono::milliseconds kWitnessPatience{100};
  const sigset_t set = heldBack();
  GroupWitness witness;
  int status = 0;
  while (waitpid(m_pid, &status, WNOHANG) != m_pid) {
    siginfo_t info{};
    const int number = sigwaitinfo(&set, &info);
    // Sent by a process, to us alone. The terminal's (SI_KERNEL) and what went to the whole group has the command too.
    if (number > 0 && number != SIGCHLD && info.si_code <= 0 && !witness.saw(number, kWitnessPatience)) {
      kill(m_pid, number);
    }
  }
  return status;
}

bool CommandRun::interrupted() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    sigaddset(&set, number);
  }
  const timespec now{};
  return sigtimedwait(&set, nullptr, &now) > 0;
}

void endLike(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);  // the command's core is the interesting one
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    raise(number);
    std::_Exit(128 + number);
  }
  std::_Exit(WEXITSTATUS(status));
}

}  // namespace plumb::launcher
