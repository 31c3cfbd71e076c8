// SPDX-License-Identifier: Apache-2.0
// A device as people call it.
#pragma once
#include <string>

#include "analyzer/trace/trace.h"

namespace plumb {

// "NVIDIA H100 80GB HBM3", or "device 2 (its name is not in the file)".
[[nodiscard]] inline std::string deviceText(int64_t ordinal, const std::string& name) {
  return name.empty() ? "device " + std::to_string(ordinal) + " (its name is not in the file)" : name;
}
[[nodiscard]] inline std::string deviceText(const Device& device) { return deviceText(device.ordinal, device.name); }

}  // namespace plumb
