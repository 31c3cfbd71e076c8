// SPDX-License-Identifier: Apache-2.0
// The file that a recording will be written to.
#pragma once
#include <string>

#include "collector/schema/result.h"

namespace plumb::launcher {

// The absolute path, if a recording can be written there: the folder exists and lets us write, and what is there
// already may be replaced. Changes nothing.
[[nodiscard]] Result<std::string> checkOutput(const std::string& file, bool force);

// Removes an earlier recording that checkOutput let pass, with its journal.
void removeRecording(const std::string& file);

// plumb-<program>-<pid>.sqlite
[[nodiscard]] std::string defaultOutput(const std::string& program);

}  // namespace plumb::launcher
