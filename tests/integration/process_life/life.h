// SPDX-License-Identifier: Apache-2.0
// A folder in which programs run with and without libplumb.so preloaded.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/database.h"
#include "tests/support/process.h"

namespace plumb::test {

inline const std::string kAgent = PLUMB_BUILD_DIR "/lib/libplumb.so";
inline const std::string kProgram = PLUMB_BUILD_DIR "/tests/process_life/life_program";
inline const std::string kPlugins = PLUMB_BUILD_DIR "/tests/process_life/plugins";
inline const std::string kLauncher = PLUMB_BUILD_DIR "/bin/plumb-launch";

class Life : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the agent is built with a sanitizer, which cannot be preloaded into other programs";
#endif
  }

  [[nodiscard]] Command plain(std::vector<std::string> arguments) const {
    Command command;
    command.arguments = std::move(arguments);
    command.directory = m_folder.path();
    // Session folders are made here, so that their end can be seen.
    command.environment = {{"TMPDIR", m_folder.path()},   {"PLUMB_PLUGIN_DIR", kPlugins}, {"LD_PRELOAD", ""},
                           {"NVTX_INJECTION64_PATH", ""}, {"CUDA_INJECTION64_PATH", ""},  {"NCCL_PROFILER_PLUGIN", ""},
                           {"PLUMB_SESSION_DIR", ""},     {"PLUMB_OUTPUT", ""},           {"PLUMB_ROOT_PID", ""},
                           {"PLUMB_ROOT_OUTPUT", ""}};
    return command;
  }
  [[nodiscard]] Command preloaded(std::vector<std::string> arguments) const {
    Command command = plain(std::move(arguments));
    command.environment["LD_PRELOAD"] = kAgent;
    return command;
  }

  // The recordings here, once every recorder has ended (its session's folder is gone).
  [[nodiscard]] std::vector<std::string> recordings() const {
    for (int i = 0; i < 600 && sessionFolders() != 0; ++i) {
      usleep(50'000);
    }
    EXPECT_EQ(sessionFolders(), 0) << "a recorder did not end";
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(m_folder.path())) {
      if (entry.path().extension() == ".sqlite") {
        files.push_back(entry.path());
      }
    }
    return files;
  }
  [[nodiscard]] Database onlyRecording() const {
    const std::vector<std::string> files = recordings();
    if (files.size() != 1) {
      throw std::runtime_error(std::to_string(files.size()) + " recordings instead of one");
    }
    return Database(files.front());
  }
  [[nodiscard]] std::string file(const std::string& name) const { return m_folder.file(name); }

  TemporaryFolder m_folder;

 private:
  [[nodiscard]] int sessionFolders() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(m_folder.path())) {
      count += entry.is_directory() && entry.path().filename().string().starts_with("plumb-") &&
                       !entry.path().filename().string().starts_with("plumb-test-")
                   ? 1
                   : 0;
    }
    return count;
  }
};

inline void expectSame(const Outcome& with, const Outcome& without) {
  EXPECT_EQ(with.exitCode, without.exitCode);
  EXPECT_EQ(with.signal, without.signal);
  EXPECT_EQ(with.output, without.output);
  EXPECT_EQ(with.errors, without.errors);
  EXPECT_FALSE(with.timedOut);
}

}  // namespace plumb::test
