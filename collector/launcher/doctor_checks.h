// SPDX-License-Identifier: Apache-2.0
// The single checks of plumb doctor.
#pragma once
#include <string>
#include <vector>

#include "collector/launcher/installation.h"

namespace plumb::launcher {

enum class Health { kOk, kOff, kBroken };  // kOff: this lane records nothing here; kBroken: Plumbline does not work

struct Finding {
  Health health;
  std::string subject;
  std::string sentence;
};

[[nodiscard]] Finding checkAgent(const Installation& installation);
[[nodiscard]] Finding checkRecorder(const Installation& installation);
[[nodiscard]] std::vector<Finding> checkPlugins(const Installation& installation);
[[nodiscard]] Finding checkDriver();
[[nodiscard]] Finding checkCupti();
[[nodiscard]] Finding checkCounters();
[[nodiscard]] std::vector<Finding> checkInjectionVariables(const Installation& installation);
[[nodiscard]] Finding checkSoftwareDevice(const Installation& installation);
[[nodiscard]] Finding checkFolder();

}  // namespace plumb::launcher
