// SPDX-License-Identifier: Apache-2.0
// Sorting of what is nearly sorted: events come in order of time, table after table and thread after thread.
#pragma once
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace plumb {

// std::stable_sort(values), in O(n log r) where the values are r sorted runs one after another.
template <class Value, class Less>
void sortRuns(std::vector<Value>& values, Less less) {
  constexpr size_t kShortRun = 16;  // shorter ones on average are no order to speak of
  std::vector<size_t> ends;         // of the runs
  for (auto at = values.begin(); at != values.end();) {
    at = std::is_sorted_until(at, values.end(), less);
    ends.push_back(static_cast<size_t>(at - values.begin()));
    if (ends.size() > 1 + values.size() / kShortRun) return std::stable_sort(values.begin(), values.end(), less);
  }
  std::vector<Value> merged;
  while (ends.size() > 1) {
    merged.clear();
    merged.reserve(values.size());
    std::vector<size_t> next;
    size_t begin = 0;
    const auto at = [&](size_t index) { return values.begin() + static_cast<std::ptrdiff_t>(index); };
    for (size_t run = 0; run < ends.size(); run += 2) {
      const size_t middle = ends[run], end = run + 1 < ends.size() ? ends[run + 1] : middle;
      std::merge(at(begin), at(middle), at(middle), at(end), std::back_inserter(merged), less);
      next.push_back(end);
      begin = end;
    }
    std::swap(values, merged);
    ends = std::move(next);
  }
}

}  // namespace plumb
