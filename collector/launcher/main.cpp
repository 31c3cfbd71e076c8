// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "collector/launcher/calibrate.h"
#include "collector/launcher/doctor.h"
#include "collector/launcher/record.h"

namespace plumb::launcher {
namespace {

constexpr int kExitUsage = 2;
constexpr const char* kLanes[] = {"cupti", "nvtx", "nccl", "memory", "cublas"};

void addRecord(CLI::App& app, RecordOptions& options) {
  CLI::App* record = app.add_subcommand(
      "record", "Run a command and record what it does on the GPU: plumb record [OPTIONS] [--] COMMAND [ARGUMENTS…]");
  // Everything from the command's first word on is the command's, also what looks like an option of ours.
  record->prefix_command();
  record->add_option("-o,--output", options.output, "The file to write (plumb-PROGRAM-PID.sqlite)")->type_name("FILE");
  record->add_flag("--force", options.force, "Replace an existing recording");
  record->add_flag("--quiet", options.quiet, "No closing line");
  auto* only = record->add_option("--plugins", options.plugins, "Record only these lanes, separated by commas")
                   ->type_name("LIST");
  for (const char* lane : kLanes) {
    record
        ->add_flag_callback(
            fmt::format("--no-{}", lane), [&options, lane] { options.withoutPlugins.emplace_back(lane); },
            fmt::format("Leave out the lane {}", lane))
        ->excludes(only);
  }
  record->add_option("--device", options.device, "software: give the command the software device instead of a GPU")
      ->check(CLI::IsMember({"auto", "software"}));
  record->footer("Example: plumb record -o run.sqlite -- torchrun --nproc-per-node 2 train.py");
}

// A closed standard descriptor would be given to our sockets. It is closed again for the command.
void holdStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) {
      (void)open("/dev/null", O_RDWR | O_CLOEXEC);  // takes the lowest free number: fd
    }
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Records GPU programs. Usually called through plumb.", "plumb"};
  app.require_subcommand(1);
  RecordOptions record;
  addRecord(app, record);
  CLI::App* doctor = app.add_subcommand("doctor", "Check what can be recorded on this machine, and say why not");
  CLI::App* calibrate = app.add_subcommand("calibrate", "Measure this machine's roofs for the roofline");
  CalibrateOptions calibration;
  calibrate->add_option("--device", calibration.device, "Which device to measure")
      ->check(CLI::IsMember({"auto", "software", "gpu"}));

  // CLI11 does not take "--" together with prefix_command.
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto separator = std::ranges::find(words, "--");
  std::vector<std::string> ours(words.begin(), separator);
  std::ranges::reverse(ours);  // the order in which CLI11 wants them
  try {
    app.parse(ours);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (doctor->parsed()) {
    return runDoctor();
  }
  if (calibrate->parsed()) {
    return runCalibrate(calibration);
  }
  record.command = app.get_subcommand("record")->remaining();
  const bool separated = record.command.empty() && separator != words.end();
  record.command.insert(record.command.end(), separated ? separator + 1 : separator, words.end());
  if (record.command.empty()) {
    fmt::print(stderr, "plumb: There is no command to record. Write: plumb record [-o FILE] COMMAND …\n");
    return kExitUsage;
  }
  if (!separated && record.command.front().starts_with('-')) {
    fmt::print(stderr, "plumb: record has no option {}. See plumb record --help.\n", record.command.front());
    return kExitUsage;
  }
  return runRecord(record);
}

}  // namespace
}  // namespace plumb::launcher

int main(int argc, char** argv) {
  try {
    plumb::launcher::holdStandardDescriptors();
    return plumb::launcher::run(argc, argv);
  } catch (const std::exception& failure) {
    return plumb::launcher::kExitUsage;  // a word could not be said (nobody reads standard error any more)
  }
}
