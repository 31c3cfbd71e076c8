// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace plumb::test {
namespace {

struct Numbered {
  int64_t value;
  uint32_t index;
};

std::vector<Numbered> makeValues(size_t count, int64_t different) {
  std::vector<Numbered> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back({static_cast<int64_t>(i) * 7919 % different, static_cast<uint32_t>(i)});
  }
  return values;
}

// np.argsort([i * 7919 % 97 for i in range(5000)], kind="quicksort") with NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4", the
// indices folded as below.
TEST(SortAsNumpy, LeavesEqualValuesInNumpysOrder) {
  std::vector<Numbered> values = makeValues(5000, 97);
  hta::sortAsNumpy(values, [](const Numbered& one) { return one.value; });
  uint64_t folded = 0;
  for (const Numbered& one : values) folded = folded * 31 + one.index;
  EXPECT_EQ(folded, 5951733920206350820u);
}

TEST(SortAsNumpy, SortsLargeListsToo) {
  std::vector<Numbered> values = makeValues(1'000'000, 600'011);
  hta::sortAsNumpy(values, [](const Numbered& one) { return one.value; });
  EXPECT_TRUE(std::ranges::is_sorted(values, {}, &Numbered::value));
}

}  // namespace
}  // namespace plumb::test
