// SPDX-License-Identifier: Apache-2.0
// What becomes of each table of the trace format in a Chrome JSON file. The one list of it.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb::exports {

struct ChromeContent {
  std::string_view table;
  std::string_view becomes;  // "" : it is not in the file
  // Its rows that are not in the file ("" for none or, when nothing of it is, for all), and what they are called.
  std::string_view without, called;
};
// Every table of the schema, in its order.
[[nodiscard]] std::span<const ChromeContent> chromeContents();

struct LeftOut {
  std::string called;
  int64_t rows = 0;
};
// Of this trace, what of it has rows.
[[nodiscard]] Result<std::vector<LeftOut>> leftOutOfChrome(Trace& trace);
// "Not in the file, …: environment variables (12), ….": "" when nothing is left out.
[[nodiscard]] std::string leftOutText(const std::vector<LeftOut>& leftOut);

}  // namespace plumb::exports
