// SPDX-License-Identifier: Apache-2.0
// Several trace files (one per node of a run) as one. Ids are renumbered by the schema's own foreign keys; texts are
// stored once again; times are moved to the earliest session's start by the files' wall clocks, so how well hosts agree
// is how well their clocks do (report clock_offsets estimates the rest from collectives).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collector/schema/result.h"

namespace plumb::exports {

struct MergeOptions {
  std::vector<std::string> files;  // two or more
  std::string output;
  std::string version;          // of the program, for meta
  bool* writeFailed = nullptr;  // is set when the error is one of writing what `output` names (its disk is full)
  bool replace = false;         // an existing output; else it is an error
};

struct MergeResult {
  uint64_t rows = 0;
  std::vector<std::string> warnings;  // for the user; also in diagnostics
};

// All files or nothing. Refuses files that hold the same events of a process.
[[nodiscard]] Result<MergeResult> mergeTraces(const MergeOptions& options);

}  // namespace plumb::exports
