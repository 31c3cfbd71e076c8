// SPDX-License-Identifier: Apache-2.0
// Copies and memory sets whose calls block the host: asynchronous copies from or to pageable memory, synchronous copies
// (but those within a device, which do not block), synchronous sets.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class BlockingKind : uint8_t { PageableCopy, SynchronousCopy, SynchronousSet };
[[nodiscard]] std::string_view nameOf(BlockingKind kind);  // "pageable copy" …

// All of one kind that were called inside ranges of one name.
struct BlockingCalls {
  ProcessId process;
  BlockingKind kind = BlockingKind::PageableCopy;
  std::optional<StringId> range;  // the innermost around the call
  int64_t count = 0;
  std::optional<int64_t> bytes = 0;  // none: one whose size was not recorded (0 in the table) is among them
  Duration blocked;                  // sum of the calls' durations, of the work's where the call is not in the trace
  Duration idle;                     // of the calls' time (the work's, likewise): no device of the process did anything
  Duration copying;                  // of it: the copy or set itself ran and nothing computed or communicated
  Interval time;                     // from the first work's start to the last one's end
  int64_t firstRow = 0, lastRow = 0;  // ids of table memory_copy, of sets memory_set
};

// Of the work that starts in the filter's GPU windows; in order of rank and kind, the longest blocked first.
[[nodiscard]] Result<std::vector<BlockingCalls>> findBlockingCalls(Trace& trace, const Filter& filter);

}  // namespace plumb
