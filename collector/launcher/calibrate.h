// SPDX-License-Identifier: Apache-2.0
// plumb calibrate: measures the roofs of this machine's device and keeps them for later recordings.
#pragma once
#include <string>

#include "collector/schema/result.h"

namespace plumb::launcher {

struct CalibrateOptions {
  std::string device = "auto";
};

[[nodiscard]] int runCalibrate(const CalibrateOptions& options);

// roofs: the text of the roofs file (an object keyed by device uuid), or empty. measured: what workloads/calibrate
// printed, one JSON object. The text of the new roofs file.
[[nodiscard]] Result<std::string> mergeRoofs(const std::string& roofs, const std::string& measured);

}  // namespace plumb::launcher
