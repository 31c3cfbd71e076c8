// SPDX-License-Identifier: Apache-2.0
#include "workloads/lessons/common/lesson.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "workloads/nn/device_choice.h"
#include "workloads/nn/operations.h"

namespace plumb::lessons {

void Table::print() const {
  std::vector<size_t> widths;
  for (const auto& row : m_rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  }
  for (const auto& row : m_rows) {
    std::string line;
    for (size_t column = 0; column < row.size(); ++column) {
      line += column == 0 ? fmt::format("{:<{}}", row[column], widths[column])
                          : fmt::format("  {:>{}}", row[column], widths[column]);
    }
    fmt::print("{}\n", line);
  }
}

bool onGpu() { return nn::kernelsAreForGpu(); }

namespace {

class ParserOptions final : public OptionList {
 public:
  explicit ParserOptions(CLI::App& app) : m_app(app) {}
  void integer(const char* name, int& value, int smallest, int largest, const char* description) override {
    m_app.add_option(name, value, description)->capture_default_str()->check(CLI::Range(smallest, largest));
  }
  void integerByDevice(const char* name, int& value, int smallest, int largest, const char* description) override {
    m_app.add_option(name, value, description)->check(CLI::Range(smallest, largest));
  }
  void choice(const char* name, std::string& value, std::vector<std::string> allowed,
              const char* description) override {
    m_app.add_option(name, value, description)->capture_default_str()->check(CLI::IsMember(std::move(allowed)));
  }

 private:
  CLI::App& m_app;
};

int run(int argc, char** argv, const Lesson& lesson) {
  CLI::App app(lesson.description, lesson.name);
  std::string device = "auto";
  app.add_option("--device", device, "auto, software or gpu")
      ->check(CLI::IsMember({"auto", "software", "gpu"}))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  ParserOptions options(app);
  if (lesson.addOptions) lesson.addOptions(options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    throw nn::UsageError(fmt::format("{} (see {} --help)", error.what(), lesson.name));
  }
  const nn::DeviceChoice choice = nn::chooseDevice(nn::deviceWish(device));
  if (!choice.note.empty()) fmt::print("{}: {}\n", lesson.name, choice.note);
  std::fflush(stdout);
  if (lesson.begin) {
    if (const std::optional<int> ended = lesson.begin(choice, {argv, argv + argc})) return *ended;
  }
  nn::enterProgram(choice, {argv, argv + argc});
  Checks checks;
  lesson.body(checks);
  return checks.print() ? 0 : 1;
}

}  // namespace

int runLesson(int argc, char** argv, const Lesson& lesson) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return run(argc, argv, lesson);
  } catch (const nn::UsageError& error) {
    fmt::print(stderr, "{}: {}\n", lesson.name, error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", lesson.name, error.what());
    return 1;
  }
}

}  // namespace plumb::lessons
