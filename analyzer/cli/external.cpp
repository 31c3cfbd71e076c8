// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/text.h"

namespace plumb::cli {

int complain(const std::string& message, int code) {
  fmt::print(stderr, "plumb: {}\n", escaped(message));
  return code;
}

int becomeSibling(const char* program, const std::vector<std::string>& arguments) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::string path = (self.parent_path() / program).string();
  std::vector<char*> pointers = {const_cast<char*>(program)};
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  execv(path.c_str(), pointers.data());
  return complain(fmt::format("{} cannot be started ({}): it belongs beside plumb; build or install it again.", path,
                              std::strerror(errno)),
                  kFailed);
}

}  // namespace plumb::cli
