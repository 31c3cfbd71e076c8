// SPDX-License-Identifier: Apache-2.0
// How a process that uses the device ends.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

class Exit : public testing::Test {
 protected:
  // Runs the statement in a fresh process: these tests are about processes.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void shortWork(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

[[noreturn]] void exitWhileBusy() {
  for (int s = 0; s < 3; ++s) {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < 20; ++i) cudaLaunchHostFunc(stream, &shortWork, nullptr);
    cudaLaunchHostFunc(
        stream, [](void*) { std::fputs("done ", stderr); }, nullptr);
  }
  std::exit(3);
}

TEST_F(Exit, QueuedWorkIsFinishedFirst) { EXPECT_EXIT(exitWhileBusy(), testing::ExitedWithCode(3), "done done done "); }

TEST_F(Exit, WorkThatNeverEndsDoesNotHoldTheProcess) {
  EXPECT_EXIT(
      {
        cudaLaunchHostFunc(
            nullptr, [](void*) { std::this_thread::sleep_for(std::chrono::hours(1)); }, nullptr);
        std::exit(4);
      },
      testing::ExitedWithCode(4), "");
}

TEST_F(Exit, AHostFunctionMayEndTheProcess) {
  EXPECT_EXIT(
      {
        cudaLaunchHostFunc(
            nullptr, [](void*) { std::exit(5); }, nullptr);
        std::this_thread::sleep_for(std::chrono::hours(1));
      },
      testing::ExitedWithCode(5), "");
}

TEST_F(Exit, AForkedChildHasNoDevice) {
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const pid_t child = fork();
  if (child == 0) {
    void* p = nullptr;
    _exit(cudaMalloc(&p, 64) == cudaErrorInitializationError ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
