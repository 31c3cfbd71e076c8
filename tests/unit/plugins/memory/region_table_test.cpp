// SPDX-License-Identifier: Apache-2.0
#include "plugins/memory/region_table.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace plumb::memory {
namespace {

using Result = RegionTable::Result;

TEST(RegionTable, HoldsTensOfThousandsOfRegions) {
  static RegionTable table;
  Region before;
  uint64_t kept = 0;
  for (uint64_t i = 1; i <= 20'000; ++i) {
    kept += table.put({i * 512, 512, 0, 1}, before) == Result::kDone;
  }
  EXPECT_EQ(kept, 20'000u);
  for (uint64_t i = 1; i <= 20'000; ++i) {
    ASSERT_EQ(table.remove(i * 512, before), Result::kDone);
  }
}

TEST(RegionTable, AFullShardLosesRatherThanWaits) {
  static RegionTable table;
  Region before;
  uint64_t lost = 0;
  for (uint64_t i = 1; i <= 100'000; ++i) {
    lost += table.put({i * 256, 256, 0, 1}, before) == Result::kLost;
  }
  EXPECT_GT(lost, 50'000u);
  EXPECT_EQ(table.remove(256, before), Result::kDone) << "what is in stays usable";
}

TEST(RegionTable, ThreadsDoNotLoseEachOthersRegions) {
  static RegionTable table;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 5'000; ++i) {
        Region before;
        Region after;
        const uint64_t at = (t * 5'000 + i + 1) * 4096;
        wrong += table.put({at, i, 0, 0}, before) != Result::kDone;
        wrong += table.name(at, 7, before, after) != Result::kDone;
        wrong += after.bytes != i;
        wrong += table.remove(at, before) != Result::kDone;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace plumb::memory
