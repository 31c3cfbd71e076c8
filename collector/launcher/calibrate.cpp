// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/calibrate.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "collector/launcher/installation.h"

namespace plumb::launcher {
namespace fs = std::filesystem;
namespace {

constexpr int kExitFailed = 1;
constexpr size_t kUuidDigits = 32;

int fail(const std::string& sentence) {
  fmt::print(stderr, "plumb: {}\n", sentence);
  return kExitFailed;
}

std::string shellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

// The last line of its output that is an object; other lines are for people.
Result<std::string> measure(const std::string& program, const std::string& device) {
  const std::string command = shellQuoted(program) + " --device " + shellQuoted(device);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return Error{fmt::format("Cannot start {}.", program)};
  }
  std::string object;
  std::string line;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) {
    if (c != '\n') {
      line.push_back(static_cast<char>(c));
      continue;
    }
    if (line.starts_with('{')) {
      object = line;
    } else {
      fmt::print(stderr, "{}\n", line);
    }
    line.clear();
  }
  object = line.starts_with('{') ? line : object;
  const int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{fmt::format("{} failed; nothing was stored. Run it by itself to see why.", program)};
  }
  return object;
}

}  // namespace

Result<std::string> mergeRoofs(const std::string& roofs, const std::string& measured) {
  const nlohmann::json device = nlohmann::json::parse(measured, nullptr, false);
  if (!device.is_object() || !device.contains("uuid") || !device["uuid"].is_string() || !device.contains("roofs") ||
      !device["roofs"].is_object() || device["uuid"].get<std::string>().size() != kUuidDigits) {
    return Error{"The measurement came out unreadable; nothing was stored. Run workloads/calibrate to see its output."};
  }
  nlohmann::json all = roofs.empty() ? nlohmann::json::object() : nlohmann::json::parse(roofs, nullptr, false);
  if (!all.is_object()) {
    return Error{"The roofs file is not a JSON object, so it was left alone. Remove it and try again."};
  }
  all[device["uuid"].get<std::string>()] = device;
  return all.dump(2) + "\n";
}

int runCalibrate(const CalibrateOptions& options) {
  const Result<Installation> installation = findInstallation();
  if (!installation.ok()) {
    return fail(installation.error().message);
  }
  const std::string& program = installation.value().calibrate;
  if (access(program.c_str(), X_OK) != 0) {
    return fail(fmt::format("{} is missing. Build the workloads.", program));
  }
  fmt::print(stderr, "plumb: measuring; this takes some seconds …\n");
  const Result<std::string> measured = measure(program, options.device);
  if (!measured.ok()) {
    return fail(measured.error().message);
  }
  const fs::path file = roofsFile();
  std::ifstream stream(file);
  const std::string before{std::istreambuf_iterator<char>(stream), {}};
  const Result<std::string> merged = mergeRoofs(before, measured.value());
  if (!merged.ok()) {
    return fail(fmt::format("{} ({})", merged.error().message, file.string()));
  }
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  // Complete or not at all: others may be reading it.
  const fs::path fresh = fmt::format("{}.{}", file.string(), getpid());
  std::ofstream(fresh) << merged.value();
  fs::rename(fresh, file, error);
  if (error) {
    fs::remove(fresh, error);
    return fail(fmt::format("Cannot write {}. Set PLUMB_ROOFS to a file that you may write.", file.string()));
  }
  fmt::print("{}\n", measured.value());
  fmt::print(stderr, "plumb: stored in {}; recordings from now on use it.\n", file.string());
  return 0;
}

}  // namespace plumb::launcher
