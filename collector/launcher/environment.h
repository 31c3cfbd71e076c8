// SPDX-License-Identifier: Apache-2.0
// The environment of a command that is recorded.
#pragma once
#include <string>
#include <vector>

#include "collector/launcher/installation.h"
#include "collector/launcher/program.h"

namespace plumb::launcher {

struct EnvironmentRequest {
  std::string sessionDirectory;
  std::string plugins;  // PLUMB_PLUGINS; empty: all
  bool softwareDevice = false;
  std::string addressSanitizer;  // a library that must come first; empty: none
};

// current ("NAME=value") with what the agent needs added: LD_PRELOAD is extended at its front, a value of the user's
// for an injection variable is kept.
[[nodiscard]] std::vector<std::string> recordingEnvironment(const std::vector<std::string>& current,
                                                            const Installation& installation,
                                                            const EnvironmentRequest& request);

[[nodiscard]] std::vector<std::string> currentEnvironment();

}  // namespace plumb::launcher
