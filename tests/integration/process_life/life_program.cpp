// SPDX-License-Identifier: Apache-2.0
// A target with many ways of living and dying: life_program WAY. It knows nothing of Plumbline; it uses NVTX, as any
// program may. What it prints must not depend on whether it is being recorded.
#include <dlfcn.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

void range(const char* name) {
  nvtxRangePushA(name);
  nvtxRangePop();
}

volatile sig_atomic_t s_signals = 0;
void countSignal(int) { s_signals = s_signals + 1; }

int reap(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int dieBy(int number) {
  range("last");
  std::puts("before the end");
  std::fflush(stdout);
  raise(number);
  return 99;
}

int forkAnd(const std::function<void()>& inChild) {
  range("parent");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    inChild();
  }
  std::printf("child %d\n", reap(child));
  range("parent after");
  return 3;
}

// Does the target see a child that is not its own, or a signal that it did not cause?
int children() {
  signal(SIGCHLD, countSignal);
  range("first");
  usleep(50'000);
  const pid_t seen = waitpid(-1, nullptr, WNOHANG);
  std::printf("SIGCHLD %d, waitpid %d %s\n", static_cast<int>(s_signals), static_cast<int>(seen), std::strerror(errno));
  return 0;
}

// What servers do: close every descriptor, then use the numbers themselves.
int closeAll(const char* file) {
  range("before");
  for (int fd = 3; fd < 2048; ++fd) {
    close(fd);
  }
  std::vector<int> files;
  for (int i = 0; i < 300; ++i) {
    files.push_back(open(file, O_RDWR | O_CREAT | O_APPEND, 0600));
  }
  range("after");
  usleep(1'200'000);  // a chore of the agent comes by
  (void)!write(files.back(), "mine\n", 5);
  std::printf("lowest descriptor %d\n", files.front());
  return 0;
}

int lowestDescriptor() {
  range("first");
  const int fd = open("/dev/null", O_RDONLY);
  std::printf("descriptor %d\n", fd);
  return 0;
}

// A signal that all threads of the program have blocked stays pending.
int blockedSignal() {
  range("first");
  signal(SIGUSR1, countSignal);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  kill(getpid(), SIGUSR1);
  usleep(50'000);
  sigset_t pending;
  sigpending(&pending);
  std::printf("handled %d, pending %d\n", static_cast<int>(s_signals), sigismember(&pending, SIGUSR1));
  return 0;
}

int spawned() {
  range("first");
  std::fflush(stdout);
  pid_t child = 0;
  char program[] = "/bin/sh";
  char option[] = "-c";
  char command[] = "echo spawned; exit 6";
  char* arguments[] = {program, option, command, nullptr};
  posix_spawn(&child, program, nullptr, nullptr, arguments, environ);
  std::printf("spawned %d\n", reap(child));
  std::fflush(stdout);
  std::printf("system %d\n", WEXITSTATUS(std::system("exit 4")));
  const pid_t vforked = vfork();
  if (vforked == 0) {
    _exit(5);
  }
  std::printf("vfork %d\n", reap(vforked));
  return 0;
}

// A child that no fork handler knows about.
int rawFork() {
  range("parent");
  std::fflush(stdout);
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    range("raw child");
    _exit(8);
  }
  std::printf("child %d\n", reap(child));
  range("parent after");
  return 0;
}

int threads() {
  std::vector<std::thread> all;
  for (int i = 0; i < 300; ++i) {  // more than there are rings, but not at once
    all.emplace_back([] { range("in a thread"); });
    if (all.size() == 20) {
      for (std::thread& thread : all) {
        thread.join();
      }
      all.clear();
      usleep(5'000);
    }
  }
  for (std::thread& thread : all) {
    thread.join();
  }
  std::puts("300 threads");
  return 0;
}

// Libraries with thread-local data in the static block; then NVTX loads the injection library by dlopen.
int afterLibraries(const char* folder) {
  int loaded = 0;
  for (int i = 0; i < 30; ++i) {
    loaded += dlopen((std::string(folder) + "/tls" + std::to_string(i) + ".so").c_str(), RTLD_NOW) != nullptr ? 1 : 0;
  }
  range("after libraries");
  std::printf("%d libraries\n", loaded);
  return 0;
}

int injected() {
  const auto initialise = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "InitializeInjection"));
  std::printf("%s\n", initialise == nullptr || initialise() == 1 ? "fine" : "refused");
  return 0;
}

int sleepThrough() {
  range("before");
  std::puts("up");
  std::fflush(stdout);
  pollfd nothing{};
  poll(&nothing, 0, 2500);
  range("after");
  return 11;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  char* const file = argc > 2 ? argv[2] : nullptr;
  const std::map<std::string, std::function<int()>> ways = {
      {"return", [] { return range("only"), 7; }},
      {"exit", [] { return range("only"), std::exit(8), 0; }},
      {"_exit", [] { return range("only"), _exit(9), 0; }},
      {"kill", [] { return dieBy(SIGKILL); }},
      {"term", [] { return dieBy(SIGTERM); }},
      {"abort", [] { return range("last"), std::abort(), 0; }},
      {"segv", [] { return dieBy(SIGSEGV); }},
      {"fork exit", [] { return forkAnd([] { range("child"), std::exit(4); }); }},
      {"fork _exit", [] { return forkAnd([] { range("child"), _exit(5); }); }},
      {"fork idle", [] { return forkAnd([] { std::exit(6); }); }},
      {"fork abort", [] { return forkAnd([] { range("child"), std::abort(); }); }},
      {"exec", [argv] { return range("before"), execl(argv[0], argv[0], "return", nullptr); }},
      {"children", children},
      {"close all", [file] { return closeAll(file); }},
      {"lowest descriptor", lowestDescriptor},
      {"blocked signal", blockedSignal},
      {"spawned", spawned},
      {"raw fork", rawFork},
      {"threads", threads},
      {"after libraries", [file] { return afterLibraries(file); }},
      {"injected", injected},
      {"sleep", sleepThrough},
  };
  const auto found = ways.find(way);
  return found == ways.end() ? 2 : found->second();
}
