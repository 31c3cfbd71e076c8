// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/text_parts.h"

#include <algorithm>

namespace plumb {

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> commaList(std::string_view text) {
  std::vector<std::string> values;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (const std::string_view value = trimmed(text.substr(at, end - at)); !value.empty()) values.emplace_back(value);
    at = end + 1;
  }
  return values;
}

}  // namespace plumb
