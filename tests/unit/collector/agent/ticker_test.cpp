// SPDX-License-Identifier: Apache-2.0
// The agent's thread: ticks while the process runs, once more at its end, and never holds it up for long.
#include "collector/agent/ticker.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>

namespace plumb::agent {
namespace {

// The ticker is one per process, so every test has a process of its own. body returns its exit code.
int inChild(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::atomic<int> s_ticks{0};
std::atomic<int> s_exits{0};
std::atomic<int> s_tid{0};

void count(void*, int atExit) {
  s_tid = static_cast<int>(syscall(SYS_gettid));
  (atExit != 0 ? s_exits : s_ticks)++;
}

TEST(Ticker, TicksAndThenOnceAtTheEnd) {
  EXPECT_EQ(inChild([] {
              ticker::every(1, count, nullptr);
              if (!ticker::start()) {
                return 1;
              }
              while (s_ticks < 5) {
                usleep(1000);
              }
              ticker::stop(5000);
              const int ticks = s_ticks;
              usleep(10'000);
              return s_exits == 1 && s_ticks == ticks ? 0 : 2;
            }),
            0);
}

TEST(Ticker, TakesTicksAfterItsStartToo) {
  EXPECT_EQ(inChild([] {
              if (!ticker::start()) {
                return 1;
              }
              usleep(5000);  // it sleeps for a second by now
              ticker::every(1, count, nullptr);
              for (int i = 0; i < 500 && s_ticks == 0; ++i) {
                usleep(1000);
              }
              return s_ticks > 0 ? 0 : 2;
            }),
            0);
}

TEST(Ticker, HasANameAndBlocksAllSignals) {
  EXPECT_EQ(inChild([] {
              ticker::every(1, count, nullptr);
              (void)ticker::start();
              while (s_ticks == 0) {
                usleep(1000);
              }
              const std::string task = "/proc/self/task/" + std::to_string(s_tid.load());
              std::string name;
              std::ifstream(task + "/comm") >> name;
              std::ifstream status(task + "/status");
              for (std::string word; status >> word;) {
                if (word == "SigBlk:") {
                  status >> word;
                  // All but SIGKILL, SIGSTOP and the two that belong to the C library.
                  return name == "plumb" && word == "fffffffe7ffbfeff" ? 0 : 2;
                }
              }
              return 3;
            }),
            0);
}

TEST(Ticker, DoesNotWaitForATickThatHangs) {
  EXPECT_EQ(inChild([] {
              ticker::every(
                  1, [](void*, int) { pause(); }, nullptr);
              (void)ticker::start();
              usleep(20'000);
              const auto start = std::chrono::steady_clock::now();
              ticker::stop(30);
              return std::chrono::steady_clock::now() - start < std::chrono::seconds(5) ? 0 : 2;
            }),
            0);
}

TEST(Ticker, WithoutAThreadRunsTheLastTickItself) {
  EXPECT_EQ(inChild([] {
              ticker::every(1, count, nullptr);
              ticker::stop(1000);
              return s_exits == 1 && s_ticks == 0 ? 0 : 2;
            }),
            0);
}

TEST(Ticker, IgnoresTooManyTicks) {
  EXPECT_EQ(inChild([] {
              for (int i = 0; i < 100; ++i) {
                ticker::every(1000, count, nullptr);
              }
              ticker::stop(1000);
              return s_exits == 32 ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace plumb::agent
