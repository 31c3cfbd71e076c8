// SPDX-License-Identifier: Apache-2.0
// What becomes of the trace format in another one, table by table, and what it has no place for.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/trace.h"
#include "collector/schema/result.h"

namespace plumb::exports {

// Lists of these have every table of the schema, in its order.
struct Content {
  std::string_view table;
  std::string_view becomes;  // "": it is not in the file
  // Its rows that are not in the file, as a condition ("" for none or, when nothing of it is, for all), and what they
  // are called.
  std::string_view without, called;
};

struct LeftOut {
  std::string called;
  int64_t rows = 0;
};
// Of this trace, what of it has rows.
[[nodiscard]] Result<std::vector<LeftOut>> leftOutOf(Trace& trace, std::span<const Content> contents);
// "Not in the file, …: environment variables (12), ….": "" when nothing is left out.
[[nodiscard]] std::string leftOutText(const std::vector<LeftOut>& leftOut);

}  // namespace plumb::exports
