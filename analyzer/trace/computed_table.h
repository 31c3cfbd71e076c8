// SPDX-License-Identifier: Apache-2.0
// A read-only SQL table whose rows a function computes when it is first read.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "collector/schema/result.h"

namespace plumb {

using Cell = std::variant<std::nullptr_t, int64_t, double, std::string>;
using CellRow = std::vector<Cell>;

struct ComputedTable {
  std::string name;
  std::string columns;  // "rank INTEGER, name TEXT"
  std::function<Result<std::vector<CellRow>>()> compute;
};

}  // namespace plumb
