// SPDX-License-Identifier: Apache-2.0
// plumb record
#pragma once
#include <string>
#include <vector>

namespace plumb::launcher {

struct RecordOptions {
  std::vector<std::string> command;
  std::string output;                       // empty: plumb-<program>-<pid>.sqlite
  bool force = false;                       // replace an existing recording
  bool quiet = false;                       // no closing line
  std::string plugins;                      // only these, separated by commas; empty: all
  std::vector<std::string> withoutPlugins;  // all but these
  std::string device = "auto";              // or "software"
};

// Records the command and ends the process as the command ended. Returns only when the command was not run: with the
// exit code, after one sentence on stderr.
[[nodiscard]] int runRecord(const RecordOptions& options);

}  // namespace plumb::launcher
