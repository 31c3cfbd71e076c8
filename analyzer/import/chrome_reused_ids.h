// SPDX-License-Identifier: Apache-2.0
// Correlation ids that a source gave to several launching calls, because its counter began anew.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/import/trace_file.h"
#include "collector/schema/result.h"

namespace plumb::import {

struct ReusedIds {
  // Process and id: those that were reused, and those that stand for the later uses now. What was known of their
  // launches before is not certain.
  std::vector<std::pair<int64_t, int64_t>> ids;
  uint64_t calls = 0;  // that have another id now
};

// Calls behind the work of an earlier call of their id get, with the work behind them, an id of their own: beyond 32
// bits, which is all that the sources' ids have. All events are in the file; the calls are those after firstCall.
[[nodiscard]] Result<ReusedIds> separateReusedIds(TraceFile& file, const std::vector<int64_t>& processes,
                                                  int64_t firstCall);

}  // namespace plumb::import
