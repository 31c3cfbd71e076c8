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

// Gives the number of repeated events, which are stored once.
[[nodiscard]] Result<uint64_t> completeTrace(TraceFile& file, const std::vector<ProcessShift>& shifts);

}  // namespace plumb::import
