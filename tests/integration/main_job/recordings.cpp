// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/main_job/recordings.h"

#include <filesystem>
#include <stdexcept>
#include <thread>

#include "tests/support/database.h"

namespace plumb::test {

std::vector<std::string> Training::arguments() const {
  return {kBin + "/workloads/fsdp",
          "--device",
          "software",
          "--ranks",
          std::to_string(ranks),
          "--layers",
          std::to_string(layers),
          "--steps",
          std::to_string(steps),
          "--dim",
          std::to_string(dim),
          "--heads",
          std::to_string(heads),
          "--vocab",
          std::to_string(vocabulary),
          "--batch",
          std::to_string(batch),
          "--seq",
          std::to_string(sequence)};
}

Command recordCommand(const std::string& file, const std::vector<std::string>& command) {
  Command record;
  record.arguments = {kPlumb, "record", "-o", file, "--"};
  record.arguments.insert(record.arguments.end(), command.begin(), command.end());
  return record;
}

Command preloadCommand(const std::string& file, const std::vector<std::string>& command) {
  Command preload;
  preload.arguments = command;
  preload.environment = {{"LD_PRELOAD", kAgent}, {"PLUMB_OUTPUT", file}};
  return preload;
}

bool waitUntilComplete(const std::string& path) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    try {
      if (std::filesystem::exists(path) &&
          Database(path).number("SELECT count(*) FROM meta WHERE key = 'complete' AND value = '1'") == 1) {
        return true;
      }
    } catch (const std::runtime_error&) {
      // Not yet a database, or not yet its tables.
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

}  // namespace plumb::test
