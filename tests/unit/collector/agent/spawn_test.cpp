// SPDX-License-Identifier: Apache-2.0
// A detached program has nothing to do with us any more, and we do not notice it.
#include "collector/agent/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace plumb::agent {
namespace {

using testing::HasSubstr;

volatile sig_atomic_t s_childSignals = 0;

// Runs a shell command detached, with the writing end of a pipe as its descriptor 3; what it wrote there.
std::string outputOf(const char* command) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const char* const arguments[] = {"/bin/sh", "-c", command, nullptr};
  char variable[] = "ONLY=this";
  char* environment[] = {variable, nullptr};
  EXPECT_TRUE(spawnDetached(arguments, environment, ends[1]));
  close(ends[1]);
  std::string text;
  std::array<char, 256> buffer{};
  for (ssize_t count; (count = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  close(ends[0]);
  return text;
}

TEST(SpawnDetached, ShowsTheCallerNoChild) {
  signal(SIGCHLD, [](int) { s_childSignals = s_childSignals + 1; });
  EXPECT_EQ(outputOf("echo out >&3; exit 5"), "out\n");
  usleep(20'000);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(s_childSignals, 0);
  signal(SIGCHLD, SIG_DFL);
}

TEST(SpawnDetached, RunsInASessionOfItsOwnWithTheGivenEnvironment) {
  const std::string text = outputOf("echo $ONLY ${HOME-none} $(pwd) >&3; ps -o sid= -p $$ >&3 2>/dev/null; echo >&3");
  EXPECT_THAT(text, HasSubstr("this none /\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr(std::to_string(getsid(0)) + "\n")));
}

TEST(SpawnDetached, HandsOverOneDescriptorAndNoOther) {
  const int leaky = open("/dev/zero", O_RDONLY);  // not close-on-exec
  EXPECT_EQ(outputOf("for fd in 0 1 2; do file=$(readlink /proc/$$/fd/$fd); echo $file >&3; done;"
                     "for fd in 4 5 6 7 8; do [ ! -e /proc/$$/fd/$fd ] || echo leaked >&3; done"),
            "/dev/null\n/dev/null\n/dev/null\n");
  close(leaky);
}

TEST(SpawnDetached, ResetsSignals) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, &before);
  EXPECT_EQ(outputOf("exec grep -E 'Sig(Blk|Ign)' /proc/self/status >&3"),
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  sigset_t now;
  sigprocmask(SIG_SETMASK, &before, &now);
  EXPECT_EQ(sigismember(&now, SIGUSR1), 1) << "the caller's own mask is as it was";
  signal(SIGPIPE, SIG_DFL);
}

TEST(SpawnDetached, SaysWhenTheProgramCannotBeRun) {
  char* environment[] = {nullptr};
  const char* const missing[] = {"/nowhere/program", nullptr};
  EXPECT_FALSE(spawnDetached(missing, environment, -1));
  const char* const folder[] = {"/tmp", nullptr};
  EXPECT_FALSE(spawnDetached(folder, environment, -1));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1) << "not even a hidden child is left";
}

}  // namespace
}  // namespace plumb::agent
