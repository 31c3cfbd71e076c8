// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

// Standard error of the program under the injection; its exit status goes to *status.
std::string run(const std::string& injection, int* status) {
  const std::string command =
      "CUDA_INJECTION64_PATH='" + injection + "' " PLUMB_BUILD_DIR "/tests/softcuda_injected_program 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 256> line{};
  while (pipe && fgets(line.data(), line.size(), pipe)) text += line.data();
  *status = pipe ? pclose(pipe) : -1;
  return text;
}

TEST(Injection, ComesOnceAtTheFirstCallBeforeAnythingIsSeen) {
  int status = -1;
  EXPECT_EQ(run(PLUMB_BUILD_DIR "/tests/libsoftcuda_injection.so", &status),
            "injected\ncontext\ncudaMalloc\ncudaMemset\ncudaFree\ncudaDeviceSynchronize\nexit\n");
  EXPECT_EQ(status, 0);
}

TEST(Injection, AMissingLibraryIsSaidAndTheProgramRuns) {
  int status = -1;
  const std::string text = run("/nowhere/libnothing.so", &status);
  EXPECT_NE(text.find("CUDA_INJECTION64_PATH is ignored"), std::string::npos);
  EXPECT_EQ(status, 0);
}

}  // namespace
