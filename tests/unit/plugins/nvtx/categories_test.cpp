// SPDX-License-Identifier: Apache-2.0
#include "plugins/nvtx/categories.h"

#include <gtest/gtest.h>

namespace plumb::nvtx {
namespace {

TEST(Categories, BelongToADomainAndCanBeRenamed) {
  static Categories categories;
  categories.name(0, 1, 100);
  categories.name(555, 1, 200);
  EXPECT_EQ(categories.find(0, 1), 100u);
  EXPECT_EQ(categories.find(555, 1), 200u);
  EXPECT_EQ(categories.find(0, 2), 0u);
  EXPECT_EQ(categories.find(556, 1), 0u);
  categories.name(0, 1, 101);
  EXPECT_EQ(categories.find(0, 1), 101u);
}

TEST(Categories, NumberZeroIsNoCategory) {
  static Categories categories;
  categories.name(0, 0, 100);
  EXPECT_EQ(categories.find(0, 0), 0u);
}

TEST(Categories, AFullTableForgetsRatherThanFails) {
  static Categories categories;
  for (uint32_t i = 1; i <= 10'000; ++i) {
    categories.name(7, i, i);
  }
  uint32_t known = 0;
  for (uint32_t i = 1; i <= 10'000; ++i) {
    const StringId found = categories.find(7, i);
    EXPECT_TRUE(found == 0 || found == i);
    known += found != 0;
  }
  EXPECT_GT(known, 3000u);
}

}  // namespace
}  // namespace plumb::nvtx
