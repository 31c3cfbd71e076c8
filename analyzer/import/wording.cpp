// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/wording.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::import {

std::string agreeing(std::string_view text, uint64_t count) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t open = std::min(text.find('[', at), text.size());
    const size_t bar = text.find('|', open), close = text.find(']', open);
    if (close == std::string_view::npos || bar > close) return result.append(text.substr(at));
    result += text.substr(at, open - at);
    result += count == 1 ? text.substr(open + 1, bar - open - 1) : text.substr(bar + 1, close - bar - 1);
    at = close + 1;
  }
  return result;
}

std::string worded(std::string_view message, uint64_t count, const std::string& file, uint64_t place) {
  return fmt::format(fmt::runtime(agreeing(message, count)), count, file, place);
}

}  // namespace plumb::import
