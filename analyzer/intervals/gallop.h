// SPDX-License-Identifier: Apache-2.0
// Searches that begin where the last one ended: events come mostly in the order of what they are looked up in.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace plumb {

// std::partition_point(values) as an index. O(log d), with d the distance from the hint, any index up to values.size().
template <class Value, class Predicate>
[[nodiscard]] size_t partitionPointNear(const std::vector<Value>& values, size_t hint, Predicate isBefore) {
  size_t low = hint, high = hint;  // all before low are true, all from high on are false
  if (hint < values.size() && isBefore(values[hint])) {
    size_t step = 1;
    for (low = hint + 1, high = values.size(); low + step <= values.size(); step *= 2) {
      if (!isBefore(values[low + step - 1])) {
        high = low + step - 1;
        break;
      }
      low += step;
    }
  } else {
    size_t step = 1;
    for (low = 0, high = hint; high >= step; step *= 2) {
      if (isBefore(values[high - step])) {
        low = high - step + 1;
        break;
      }
      high -= step;
    }
  }
  const auto begin = values.begin();
  return static_cast<size_t>(std::partition_point(begin + static_cast<std::ptrdiff_t>(low),
                                                  begin + static_cast<std::ptrdiff_t>(high), isBefore) -
                             begin);
}

}  // namespace plumb
