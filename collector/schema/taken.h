// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace plumb {

// What every command says of an output that is there already, when it was not told to replace it.
inline std::string takenText(const std::string& path) {
  return path + " exists already; name another output with -o, or add --force.";
}

}  // namespace plumb
