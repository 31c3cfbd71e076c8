// SPDX-License-Identifier: Apache-2.0
// From the first connection to the finished file: the loop that ties the socket to the recording.
#pragma once
#include "collector/recorder/connections.h"
#include "collector/recorder/options.h"
#include "collector/recorder/recording.h"

namespace plumb::recorder {

// Exit codes of plumb-recorder.
inline constexpr int kExitDone = 0;
inline constexpr int kExitRefused = 2;     // nothing was recorded: wrong arguments, or no file could be made
inline constexpr int kExitIncomplete = 3;  // the file is there, but rows are missing

// Records until the session ends (protocol.h) or SIGTERM, SIGINT or SIGHUP comes; these must be blocked by the caller.
// Returns an exit code; prints one sentence on stderr when it is not 0.
[[nodiscard]] int serve(const Options& options, Fd listener);

}  // namespace plumb::recorder
