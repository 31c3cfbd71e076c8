// SPDX-License-Identifier: Apache-2.0
// A command's end is told exactly, and signals that were sent to us reach it.
#include "collector/launcher/command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace plumb::launcher {
namespace {

int statusOf(const std::string& script) {
  CommandRun command;
  EXPECT_TRUE(command.start("/bin/sh", {"sh", "-c", script}, {"PATH=/usr/bin:/bin"}).ok());
  return command.wait();
}

TEST(CommandRun, TellsTheExitCode) {
  for (const int code : {0, 1, 127, 255}) {
    EXPECT_EQ(WEXITSTATUS(statusOf("exit " + std::to_string(code))), code);
  }
}

TEST(CommandRun, TellsTheSignal) {
  const int status = statusOf("kill -9 $$");
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(CommandRun, GivesTheCommandOurSignalMask) {
  EXPECT_EQ(WEXITSTATUS(statusOf("grep -q 'SigBlk:.0000000000000000' /proc/self/status")), 0);
}

TEST(CommandRun, PassesOnWhatIsSentToUs) {
  CommandRun command;
  ASSERT_TRUE(command
                  .start("/bin/sh", {"sh", "-c", "trap 'exit 33' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"},
                         {"PATH=/usr/bin:/bin"})
                  .ok());
  EXPECT_EQ(WEXITSTATUS(command.wait()), 33);
  EXPECT_FALSE(command.interrupted()) << "it was for the command";
}

TEST(CommandRun, NoticesAnInterruptionAfterTheEnd) {
  CommandRun command;
  ASSERT_TRUE(command.start("/bin/true", {"true"}, {}).ok());
  (void)command.wait();
  kill(getpid(), SIGINT);
  EXPECT_TRUE(command.interrupted());
  EXPECT_FALSE(command.interrupted());
}

TEST(CommandRun, SaysWhenItCannotRun) {
  CommandRun command;
  EXPECT_FALSE(command.start("/nowhere", {"nowhere"}, {}).ok());
}

TEST(EndLike, EndsTheSameWay) {
  for (const char* script : {"exit 0", "exit 42", "kill -TERM $$", "kill -SEGV $$"}) {
    const pid_t child = fork();
    if (child == 0) {
      endLike(statusOf(script));
    }
    int status = 0;
    waitpid(child, &status, 0);
    const int expected = statusOf(script);
    EXPECT_EQ(WIFEXITED(status), WIFEXITED(expected)) << script;
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
              WIFEXITED(expected) ? WEXITSTATUS(expected) : WTERMSIG(expected))
        << script;
  }
}

}  // namespace
}  // namespace plumb::launcher
