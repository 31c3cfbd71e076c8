// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>

#include "collector/launcher/command.h"
#include "collector/launcher/environment.h"
#include "collector/launcher/installation.h"
#include "collector/launcher/output.h"
#include "collector/launcher/program.h"
#include "collector/launcher/recorder_process.h"

namespace plumb::launcher {
namespace fs = std::filesystem;
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitCannotRun = 127;
constexpr std::chrono::seconds kQuietPatience{3};
constexpr std::chrono::seconds kPatience{60};

// Standard error may be full or closed: that must not change how the command's run ends.
void say(const std::string& sentence) {
  const std::string line = "plumb: " + sentence + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

// Texts of the linker and of the file system, which a terminal must not obey.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

// Readers that held the file at its end left rows in its log.
void tellOfLog(const std::string& file) {
  std::error_code failed;
  const auto size = fs::file_size(file + "-wal", failed);
  if (failed || size == 0) {
    return;
  }
  say(printable(
      fmt::format("another program reads {0}: {0}-wal belongs to the file until `plumb index {0}`, or the next program "
                  "that opens it for writing, folds it in.",
                  file)));
}

struct Plan {
  Installation installation;
  std::string program;
  ProgramFacts facts;
  std::string output;
  std::string plugins;
};

// A lane that is named but not installed would silently record nothing.
Status checkPlugins(const std::string& names, const Installation& installation) {
  const char* chosen = std::getenv("PLUMB_PLUGIN_DIR");  // where the agent will look
  const fs::path folder = chosen != nullptr ? chosen : installation.plugins;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    if (!name.empty() && !fs::exists(folder / (name + ".so"))) {
      return Error{fmt::format("There is no plugin '{}' in {}. `plumb doctor` lists those that are there.", name,
                               folder.string())};
    }
  }
  return Unit{};
}

// Everything that can be refused is refused here, before anything is made.
Result<Plan> makePlan(const RecordOptions& options) {
  Result<Installation> installation = findInstallation();
  if (!installation.ok()) {
    return installation.error();
  }
  Plan plan;
  plan.installation = installation.value();
  plan.plugins = options.plugins;
  Result<std::string> program = findProgram(options.command.front());
  if (!program.ok()) {
    return program.error();
  }
  plan.program = program.value();
  plan.facts = inspectProgram(plan.program);
  for (const std::string& part : {plan.installation.agent, plan.installation.recorder}) {
    if (access(part.c_str(), R_OK) != 0) {
      return Error{fmt::format("A part of Plumbline is missing: {}. Build it completely, or install it again.", part)};
    }
  }
  Result<std::string> output =
      checkOutput(options.output.empty() ? defaultOutput(plan.program) : options.output, options.force);
  if (!output.ok()) {
    return output.error();
  }
  plan.output = output.value();
  if (options.device == "software" && !fs::exists(plan.installation.softwareDevice)) {
    return Error{fmt::format("The software device is missing: {}. Build the workloads, or leave out --device software.",
                             plan.installation.softwareDevice)};
  }
  if (const Status known = checkPlugins(options.plugins, plan.installation); !known.ok()) {
    return known.error();
  }
  if (!options.withoutPlugins.empty()) {
    plan.plugins = fmt::format("-{}", fmt::join(options.withoutPlugins, ",-"));
  }
  return plan;
}

// Empty: it is still at work after kPatience, or the user does not want to wait.
std::optional<Result<transport::Summary>> waitForRecorder(RecorderProcess& recorder, CommandRun& command,
                                                          const Plan& plan, bool quiet) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  bool told = quiet || isatty(STDERR_FILENO) == 0;
  while (Clock::now() - start < kPatience && !command.interrupted()) {
    if (auto outcome = recorder.waitForSummary(std::chrono::milliseconds(200))) {
      return outcome;
    }
    if (!told && Clock::now() - start > kQuietPatience) {
      say(fmt::format("completing {} …", plan.output));
      told = true;
    }
  }
  return std::nullopt;
}

// One line, once the command has ended; its own output is over by then.
void report(RecorderProcess& recorder, CommandRun& command, const Plan& plan, bool quiet) {
  recorder.requestFinish();
  const auto outcome = waitForRecorder(recorder, command, plan, quiet);
  if (!outcome) {
    say(
        fmt::format("{} is not complete yet: something that the command started is still running, or the recording is "
                    "large. The recorder (pid {}) completes it in the background.",
                    plan.output, recorder.pid()));
    return;
  }
  if (!outcome->ok()) {
    say(outcome->error().message);
    return;
  }
  const transport::Summary& summary = outcome->value();
  tellOfLog(summary.file);
  if (quiet) {
    return;
  }
  std::istringstream lanesOff(summary.lanesOff);
  for (std::string sentence; std::getline(lanesOff, sentence);) {
    say(printable(sentence));
  }
  if (summary.fixed.process_count == 0) {
    say(
        fmt::format("nothing was recorded: no process of the command called CUDA, NVTX or NCCL in a way that reaches "
                    "Plumbline. {} is empty.",
                    summary.file));
    return;
  }
  std::string line = fmt::format("{} event{} of {} process{} in {}", summary.fixed.event_count,
                                 summary.fixed.event_count == 1 ? "" : "s", summary.fixed.process_count,
                                 summary.fixed.process_count == 1 ? "" : "es", summary.file);
  if (summary.fixed.dropped_count != 0) {
    line += fmt::format("; {} more were lost", summary.fixed.dropped_count);
  }
  if (summary.fixed.diagnostic_count != 0) {
    line += fmt::format("; {} diagnostic{}", summary.fixed.diagnostic_count,
                        summary.fixed.diagnostic_count == 1 ? "" : "s");
  }
  say(line);
}

}  // namespace

int runRecord(const RecordOptions& options) {
  const Result<Plan> planned = makePlan(options);
  if (!planned.ok()) {
    say(planned.error().message);
    return kExitUsage;
  }
  const Plan& plan = planned.value();
  for (const std::string& limit : limitsOf(plan.program, plan.facts)) {
    say(limit);
  }
  if (options.force) {
    removeRecording(plan.output);
  }
  CommandRun command;
  Result<RecorderProcess> recorder =
      RecorderProcess::start({.program = plan.installation.recorder,
                              .output = plan.output,
                              .command = fmt::format("{}", fmt::join(options.command, " "))});
  if (!recorder.ok()) {
    say(recorder.error().message);
    return kExitUsage;
  }
  const auto environment = recordingEnvironment(currentEnvironment(), plan.installation,
                                                {.sessionDirectory = recorder.value().sessionDirectory(),
                                                 .plugins = plan.plugins,
                                                 .softwareDevice = options.device == "software",
                                                 .addressSanitizer = plan.facts.addressSanitizer});
  if (const Status started = command.start(plan.program, options.command, environment); !started.ok()) {
    say(started.error().message);
    recorder.value().requestFinish();
    (void)recorder.value().waitForSummary(kPatience);
    removeRecording(plan.output);
    return kExitCannotRun;
  }
  const int status = command.wait();
  report(recorder.value(), command, plan, options.quiet);
  endLike(status);
}

}  // namespace plumb::launcher
