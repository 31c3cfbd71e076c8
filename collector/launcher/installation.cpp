// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/installation.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace plumb::launcher {
namespace fs = std::filesystem;

Result<Installation> findInstallation() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return Error{"The place of this program cannot be found: /proc is not mounted. Mount it and try again."};
  }
  const fs::path root = self.parent_path().parent_path();
  return Installation{.agent = root / "lib/libplumb.so",
                      .plugins = root / "lib/plumb/plugins",
                      .recorder = root / "bin/plumb-recorder",
                      .softwareDevice = root / "lib/softcuda",
                      .calibrate = root / "bin/workloads/calibrate"};
}

std::string roofsFile() {
  if (const char* file = std::getenv("PLUMB_ROOFS"); file != nullptr && *file != '\0') {
    return file;
  }
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/plumb/roofs.json";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "/tmp" : home) + "/.cache/plumb/roofs.json";
}

}  // namespace plumb::launcher
