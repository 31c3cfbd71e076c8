// SPDX-License-Identifier: Apache-2.0
#include "analyzer/trace/row_store.h"

#include <gtest/gtest.h>

#include <string>

namespace plumb::test {
namespace {

TEST(RowStore, GivesBackWhatWasAdded) {
  constexpr int kRows = 3000;  // more names than it remembers, and the same ones again and again
  const auto nameOf = [](int row) { return "void kernel<" + std::to_string(row % 1700) + ">(float*)"; };
  RowStore store;
  for (int row = 0; row < kRows; ++row) {
    store.startRow();
    store.addInteger(row);
    store.addText(nameOf(row));
    store.addText("host");
    store.addText("");
    store.addNull();
    store.addReal(row / 2.0);
  }
  store.add(CellRow{int64_t{7}, std::string("host"), nullptr, 0.5});
  ASSERT_EQ(store.size(), kRows + 1u);
  std::vector<RowStore::Value> values;
  for (int row = 0; row < kRows; ++row) {
    store.read(static_cast<size_t>(row), values);
    ASSERT_EQ(values.size(), 6u);
    EXPECT_EQ(values[0].integer, row);
    EXPECT_EQ(values[1].type, ValueType::Text);
    EXPECT_EQ(values[1].bytes, nameOf(row));
    EXPECT_EQ(values[2].bytes, "host");
    EXPECT_EQ(values[3].type, ValueType::Text);
    EXPECT_EQ(values[3].bytes, "");
    EXPECT_EQ(values[4].type, ValueType::Null);
    EXPECT_EQ(values[5].real, row / 2.0);
  }
  store.read(kRows, values);
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(values[1].bytes, "host");
  EXPECT_EQ(values[3].real, 0.5);
}

}  // namespace
}  // namespace plumb::test
