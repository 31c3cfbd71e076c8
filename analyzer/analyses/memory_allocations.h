// SPDX-License-Identifier: Apache-2.0
// Allocations added up by what they are: space, name, category and size class.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/memory_history.h"
#include "analyzer/trace/filter.h"

namespace plumb {

struct AllocationGroup {
  ProcessId process;
  std::optional<int64_t> rank;
  std::optional<DeviceId> device;
  std::string space;
  std::string name;  // the declared one, else the place in the code that allocated it; "": neither is known
  MemoryCategory category = MemoryCategory::Unattributed;
  bool isDeclared = false;     // false: the category is inferred, or Unattributed
  int64_t sizeClassBytes = 0;  // the smallest power of two that is not smaller than the allocations
  int64_t count = 0;
  int64_t bytes = 0;         // sum
  int64_t largestBytes = 0;  // of one
  int64_t freedCount = 0;
  Duration freedLife;          // sum over those that were freed
  int64_t liveAtEndBytes = 0;  // never freed
};

// Allocations that begin in the host windows of the filter; most bytes first.
[[nodiscard]] Result<std::vector<AllocationGroup>> groupAllocations(Trace& trace, const Filter& filter = {});

}  // namespace plumb
