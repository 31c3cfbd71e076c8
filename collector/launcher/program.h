// SPDX-License-Identifier: Apache-2.0
// What can be said about a command before it is run.
#pragma once
#include <string>
#include <vector>

#include "collector/schema/result.h"

namespace plumb::launcher {

// The file that a command's first word names, found as a shell finds it. Error: it does not exist, is a directory or
// cannot be executed.
[[nodiscard]] Result<std::string> findProgram(const std::string& word);

struct ProgramFacts {
  bool isElf = false;            // else a script, or unreadable: nothing is known
  bool isStatic = false;         // the dynamic linker does not run: no preloading
  bool isPrivileged = false;     // setuid, setgid or file capabilities: the linker ignores LD_PRELOAD
  std::string addressSanitizer;  // the soname of its runtime, which insists on being first; empty: none
};
[[nodiscard]] ProgramFacts inspectProgram(const std::string& path);

// One sentence for each thing that cannot be recorded.
[[nodiscard]] std::vector<std::string> limitsOf(const std::string& path, const ProgramFacts& facts);

}  // namespace plumb::launcher
