// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/temporary_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace plumb {
namespace {

constexpr std::string_view kBegin = "The folder for temporary files, ";

// In SQLite's order, by its conditions.
std::string folder() {
  const char* const places[] = {std::getenv("SQLITE_TMPDIR"), std::getenv("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp"};
  for (const char* place : places) {
    struct stat status {};
    if (place && ::stat(place, &status) == 0 && S_ISDIR(status.st_mode) && ::access(place, W_OK | X_OK) == 0)
      return place;
  }
  return ".";
}

}  // namespace

std::string temporaryFilesSentence(std::string_view detail) {
  return fmt::format(
      "{}{}, takes no more ({}): make room there, allow larger files (ulimit -f), or name another folder with "
      "SQLITE_TMPDIR or TMPDIR.",
      kBegin, folder(), detail);
}

bool isAboutTemporaryFiles(std::string_view message) { return message.find(kBegin) != std::string_view::npos; }

}  // namespace plumb
