// SPDX-License-Identifier: Apache-2.0
// Where the parts of this Plumbline are: beside the program that runs.
#pragma once
#include <string>

#include "collector/schema/result.h"

namespace plumb::launcher {

struct Installation {
  std::string agent;           // lib/libplumb.so
  std::string plugins;         // lib/plumb/plugins
  std::string recorder;        // bin/plumb-recorder
  std::string softwareDevice;  // lib/softcuda
  std::string calibrate;       // bin/workloads/calibrate
};

[[nodiscard]] Result<Installation> findInstallation();

// ${PLUMB_ROOFS:-${XDG_CACHE_HOME:-~/.cache}/plumb/roofs.json}
[[nodiscard]] std::string roofsFile();

}  // namespace plumb::launcher
