// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/group_witness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace plumb::launcher {
namespace {

// Everything stays blocked but SIGKILL, with which it goes when the launcher does.
[[noreturn]] void testify(int reports, pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) {
    _exit(0);
  }
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  for (;;) {
    const int number = sigwaitinfo(&all, nullptr);
    const auto report = static_cast<unsigned char>(number);
    if (number > 0 && write(reports, &report, 1) != 1 && errno != EINTR) {
      _exit(0);
    }
  }
}

}  // namespace

GroupWitness::GroupWitness() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return;
  }
  const pid_t launcher = getpid();
  m_pid = fork();
  if (m_pid == 0) {
    close(ends[0]);
    testify(ends[1], launcher);
  }
  close(ends[1]);
  m_reports = ends[0];
}

GroupWitness::~GroupWitness() {
  if (m_pid > 0) {
    kill(m_pid, SIGKILL);
    waitpid(m_pid, nullptr, 0);
  }
  if (m_reports >= 0) {
    close(m_reports);
  }
}

bool GroupWitness::saw(int signal, std::chrono::milliseconds patience) {
  if (m_pid <= 0) {
    return false;
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{m_reports, POLLIN, 0};
    if (left.count() < 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      return false;
    }
    unsigned char report = 0;
    if (read(m_reports, &report, 1) != 1) {
      return false;
    }
    if (report == signal) {
      return true;
    }
  }
}

}  // namespace plumb::launcher
