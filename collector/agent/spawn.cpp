// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace plumb::agent {
namespace {

constexpr size_t kStackBytes = 64 * 1024;

// In the target's memory, shared with both children (CLONE_VM): they run one at a time while the caller waits
// (CLONE_VFORK), and only make system calls.
struct Launch {
  const char* const* arguments;
  char* const* environment;
  int keptFd;
  std::byte* innerStackTop;
  int error = 0;
};

// What the target has blocked, ignored or handled is its own business.
void resetSignals() noexcept {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    sigaction(number, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void closeAllFrom(unsigned first) noexcept {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) {
    return;
  }
#endif
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto end = static_cast<unsigned>(std::min<rlim_t>(limit.rlim_cur, 65536));
  for (unsigned fd = first; fd < end; ++fd) {
    close(static_cast<int>(fd));
  }
}

int runProgram(void* context) noexcept {
  auto& launch = *static_cast<Launch*>(context);
  int kept = launch.keptFd;
  if (kept >= 0 && kept <= 2) {
    kept = fcntl(kept, F_DUPFD, kInheritedFd + 1);
  }
  const int null = open("/dev/null", O_RDWR);
  if (null >= 0) {
    for (int fd = 0; fd <= 2; ++fd) {
      dup2(null, fd);
    }
  }
  if (kept == kInheritedFd) {
    fcntl(kept, F_SETFD, 0);
  } else if (kept >= 0) {
    dup2(kept, kInheritedFd);
  }
  closeAllFrom(kept >= 0 ? kInheritedFd + 1 : kInheritedFd);
  if (chdir("/") != 0) {
    // Then it stays where it is; its paths are absolute.
  }
  resetSignals();
  execve(launch.arguments[0], const_cast<char* const*>(launch.arguments), launch.environment);
  launch.error = errno;
  _exit(127);
}

int runIntermediate(void* context) noexcept {
  auto& launch = *static_cast<Launch*>(context);
  setsid();
  // Its parent ends at once, so the program belongs to init from the start.
  if (clone(runProgram, launch.innerStackTop, CLONE_VM | CLONE_VFORK, context) < 0) {
    launch.error = errno;
  }
  _exit(0);
}

}  // namespace

bool spawnDetached(const char* const* arguments, char* const* environment, int keptFd) noexcept {
  if (access(arguments[0], X_OK) != 0) {
    return false;
  }
  void* stacks = mmap(nullptr, 2 * kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stacks == MAP_FAILED) {
    return false;
  }
  auto* base = static_cast<std::byte*>(stacks);
  Launch launch{arguments, environment, keptFd, base + 2 * kStackBytes};
  // No handler of the target may run in a child that shares its memory.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Exit signal 0: no SIGCHLD, and waitable only by those who ask for it (__WCLONE).
  const pid_t intermediate = clone(runIntermediate, base + kStackBytes, CLONE_VM | CLONE_VFORK, &launch);
  const int error = errno;
  if (intermediate > 0) {
    while (waitpid(intermediate, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stacks, 2 * kStackBytes);
  errno = intermediate < 0 ? error : launch.error;
  return intermediate > 0 && launch.error == 0;
}

}  // namespace plumb::agent
