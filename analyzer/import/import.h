// SPDX-License-Identifier: Apache-2.0
// Other people's traces into Plumbline's format. What a file is, is told by its content, not by its name.
//   torch.profiler (Kineto) JSON of all generations, and Chrome trace JSON in general; plain, gzip or zstd.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/import/trace_file.h"
#include "collector/schema/result.h"

namespace plumb::import {

struct ImportOptions {
  std::vector<std::string> files;  // several: the ranks of one run
  std::vector<int64_t> ranks;      // empty, or one per file; else from the file's content, then from its name
  std::string output;
  bool replace = false;         // an existing output; else it is an error
  std::string version;          // of the program, for meta
  bool sizes = false;           // say how large each table and index became
  bool* writeFailed = nullptr;  // is set when the error is one of writing what `output` names (its disk is full)
  // Called now and then from the calling thread: the file at hand, and how much of it has been read.
  std::function<void(const std::string& file, uint64_t bytes, uint64_t size)> progress;
};

struct ImportResult {
  uint64_t filesLeftOut = 0;          // that hold nothing to import
  uint64_t events = 0;                // found in the files, damaged ones included
  uint64_t notStored = 0;             // of those, counted in diagnostics instead
  uint64_t damaged = 0;               // of those
  std::vector<TableSize> sizes;       // largest first; empty unless asked for
  std::vector<std::string> warnings;  // for the user; also in diagnostics
};

// A file that is no trace, or holds nothing, is left out with a warning when another one can be imported. Any other
// error is one of the whole: no output file is made, and one that was there stays.
[[nodiscard]] Result<ImportResult> importTraces(const ImportOptions& options);

// The message of the diagnostic rank_missing.
[[nodiscard]] std::string missingRanksText(int64_t present, int64_t worldSize);

}  // namespace plumb::import
