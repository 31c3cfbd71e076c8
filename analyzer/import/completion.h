// SPDX-License-Identifier: Apache-2.0
// The last pass over an imported file: one time origin for all sources, repeated events removed, collectives joined to
// their calls, ranges nested.
#pragma once
#include <cstdint>
#include <vector>

#include "analyzer/import/trace_file.h"
#include "collector/schema/result.h"

namespace plumb::import {

struct ProcessShift {
  int64_t process;
  int64_t deltaNs;  // to be added to its times
};

// Importers add this to the times of diagnostics that the source holds; those of their own have none, and stand at 0.
inline constexpr int64_t kTimedDiagnostic = int64_t{1} << 61;

// Gives the number of repeated events, which are stored once.
[[nodiscard]] Result<uint64_t> completeTrace(TraceFile& file, const std::vector<ProcessShift>& shifts);

}  // namespace plumb::import
