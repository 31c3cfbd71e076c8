// SPDX-License-Identifier: Apache-2.0
// Memory over time as rows: what is allocated, what is reserved, and each category.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/memory.h"

namespace plumb {

struct MemorySample {
  ProcessId process;
  std::optional<int64_t> rank;
  std::optional<DeviceId> device;
  TimePoint time;
  std::string_view series;  // "allocated" "reserved", or a category
  std::string_view source;  // of a category: "declared" "inferred"; else ""
  int64_t bytes = 0;
};

// One row for each series that is not zero all the time. sampleCount none: at every change. Else of each of that many
// equal parts of the time the moment at which most was allocated, so that no peak is lost; reserved likewise.
[[nodiscard]] Result<std::vector<MemorySample>> memorySeries(Trace& trace, const Filter& filter,
                                                             std::optional<size_t> sampleCount);

}  // namespace plumb
