// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/last_words.h"
#include "analyzer/cli/text.h"
#include "analyzer/trace/temporary_files.h"

namespace plumb::cli {

int complain(const std::string& message, int code) {
  tell(fmt::format("plumb: {}\n", escaped(message)));
  return code == kBadInput && isAboutTemporaryFiles(message) ? kFailed : code;
}

int finishOutput(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  return complain("The output could not be written: is the disk full?", kFailed);
}

namespace {

std::string siblingPath(const char* program) {
  std::error_code failed;
  return (std::filesystem::read_symlink("/proc/self/exe", failed).parent_path() / program).string();
}

}  // namespace

bool hasSibling(const char* program) { return ::access(siblingPath(program).c_str(), X_OK) == 0; }

int becomeSibling(const char* program, const std::vector<std::string>& arguments) {
  const std::string path = siblingPath(program);
  std::vector<char*> pointers = {const_cast<char*>(program)};
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  execv(path.c_str(), pointers.data());
  return complain(fmt::format("{} cannot be started ({}): it belongs beside plumb; build or install it again.", path,
                              std::strerror(errno)),
                  kFailed);
}

}  // namespace plumb::cli
