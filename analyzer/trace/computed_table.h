// SPDX-License-Identifier: Apache-2.0
// A read-only SQL table whose rows a function computes when it is first read. It takes a filter as a table-valued
// function does: NAME(rank, step, range, from_ns, to_ns), each optional, NULL for no limit; NAME alone is the whole
// trace. The rows are kept for each filter until the file changes.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/row_store.h"
#include "collector/schema/result.h"

namespace plumb {

struct ComputedTable {
  std::string name;
  std::string columns;  // "rank INTEGER, name TEXT"
  std::function<Result<RowStore>(const Filter&)> compute;
};

// The arguments rank, step, range, from_ns and to_ns, NULL for no limit. Text is taken as the number that it spells.
[[nodiscard]] Result<Filter> filterFrom(const std::vector<Cell>& arguments);

}  // namespace plumb
