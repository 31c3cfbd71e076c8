// SPDX-License-Identifier: Apache-2.0
// A folder in which the program `plumb` runs.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/trace_builder.h"

namespace plumb::test {

namespace fs = std::filesystem;

inline const std::string kPlumb = PLUMB_BUILD_DIR "/bin/plumb";

inline std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class Cli : public testing::Test {
 protected:
  Cli() : m_folder(fs::temp_directory_path() / ("plumb_cli_" + std::to_string(getpid()))) {
    fs::remove_all(m_folder);
    fs::create_directories(m_folder);
  }
  ~Cli() override { fs::remove_all(m_folder); }
  [[nodiscard]] std::string path(const std::string& name) const { return (m_folder / name).string(); }
  std::string sample() {
    const std::string file = path("run.sqlite");
    if (!fs::exists(file)) makeSampleTrace(file);
    return file;
  }
  Outcome plumb(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {}) {
    arguments.insert(arguments.begin(), kPlumb);
    environment.emplace("HOME", m_folder.string());
    environment.emplace("XDG_CONFIG_HOME", "");
    environment.emplace("PLUMB_REPORTS", "");
    return run(
        {.arguments = std::move(arguments), .environment = std::move(environment), .directory = m_folder.string()});
  }
  static nlohmann::json json(const Outcome& outcome) {
    EXPECT_EQ(outcome.exitCode, 0) << outcome.errors;
    return nlohmann::json::parse(outcome.output);
  }
  // One sentence on standard error, nothing on standard output.
  static void expectRefused(const Outcome& outcome, const std::string& part, int code = 2) {
    EXPECT_EQ(outcome.exitCode, code);
    EXPECT_EQ(outcome.output, "");
    EXPECT_THAT(outcome.errors, testing::HasSubstr(part));
    EXPECT_EQ(linesOf(outcome.errors).size(), 1u) << outcome.errors;
  }
  fs::path m_folder;
};

}  // namespace plumb::test
