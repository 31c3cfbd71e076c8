// SPDX-License-Identifier: Apache-2.0
#include "analyzer/intervals/sort_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace plumb::test {
namespace {

using Numbered = std::pair<int, size_t>;  // a value, and where it stood

bool isLess(const Numbered& a, const Numbered& b) { return a.first < b.first; }

TEST(SortRuns, LeavesEqualValuesInTheirOrder) {
  std::mt19937 random(5);
  for (const size_t runLength : {1, 3, 40, 1000}) {
    for (const size_t size : {0, 1, 2, 17, 500}) {
      std::vector<Numbered> values;
      for (size_t i = 0; i < size; ++i) {
        const int low = i % runLength == 0 || values.empty() ? 0 : values.back().first;
        values.emplace_back(low + static_cast<int>(random() % 3), i);
      }
      std::vector<Numbered> expected = values;
      std::ranges::stable_sort(expected, isLess);
      sortRuns(values, isLess);
      EXPECT_EQ(values, expected) << size << " values in runs of " << runLength;
    }
  }
}

}  // namespace
}  // namespace plumb::test
