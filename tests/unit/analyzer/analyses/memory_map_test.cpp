// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_map.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

namespace plumb {
namespace {

constexpr auto kParameter = static_cast<size_t>(MemoryCategory::Parameter);
constexpr auto kGradient = static_cast<size_t>(MemoryCategory::Gradient);

TEST(MemoryMap, TheLatestDeclarationCountsAndTheOneBelowShowsAgain) {
  MemoryMap map;
  map.allocate(0, 100, 100, {});
  EXPECT_TRUE(map.declare(0, 100, 100, MemoryCategory::Parameter));
  EXPECT_TRUE(map.declare(1, 120, 30, MemoryCategory::Gradient));
  EXPECT_EQ(map.totals({})->declaredBytes[kParameter], 70);
  EXPECT_EQ(map.totals({})->declaredBytes[kGradient], 30);
  map.undeclare(1);
  EXPECT_EQ(map.totals({})->declaredBytes[kParameter], 100);
  EXPECT_EQ(map.totals({})->declaredBytes[kGradient], 0);
}

TEST(MemoryMap, FreedMemoryTakesItsRegionsAlong) {
  MemoryMap map;
  map.allocate(0, 100, 100, {});
  ASSERT_TRUE(map.declare(0, 100, 50, MemoryCategory::Parameter));
  map.free(0);
  map.allocate(1, 100, 100, {});
  EXPECT_EQ(map.totals({})->declaredBytes[kParameter], 0);
  map.undeclare(0);
  EXPECT_EQ(map.totals({})->declaredBytes[kParameter], 0);
  EXPECT_EQ(map.totals({})->allocatedBytes, 100);
}

TEST(MemoryMap, ABlockInTheWayWasFreedUnseen) {
  MemoryMap map;
  map.allocate(0, 100, 100, {});
  map.allocate(1, 150, 100, {});
  EXPECT_EQ(map.totals({})->allocatedBytes, 100);
  map.free(0);
  EXPECT_EQ(map.totals({})->allocatedBytes, 100);
}

TEST(MemoryMap, NothingIsDeclaredOutsideAllocations) {
  MemoryMap map;
  EXPECT_FALSE(map.declare(0, 100, 10, MemoryCategory::Parameter));
  map.allocate(0, 100, 10, {});
  EXPECT_FALSE(map.declare(1, 110, 10, MemoryCategory::Parameter));
  EXPECT_TRUE(map.declare(2, 95, 10, MemoryCategory::Parameter));  // only the part inside
  EXPECT_EQ(map.totals({})->declaredBytes[kParameter], 5);
}

// Against the same on single bytes: for each, the live regions that were declared over it while its block lived.
TEST(MemoryMap, AgreesWithBruteForce) {
  constexpr int64_t kBytes = 60;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto number = [&](int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); };
    MemoryMap map;
    std::array<std::optional<size_t>, kBytes> blockAt{};
    std::array<std::map<size_t, MemoryCategory>, kBytes> regionsAt{};
    size_t next = 0;
    for (int operation = 0; operation < 300; ++operation) {
      const int64_t start = number(kBytes), length = 1 + number(std::min<int64_t>(kBytes - start, 20));
      const auto endBlock = [&](size_t block) {
        for (size_t i = 0; i < kBytes; ++i) {
          if (blockAt[i] != block) continue;
          blockAt[i].reset();
          regionsAt[i].clear();
        }
      };
      const size_t old = next ? static_cast<size_t>(number(static_cast<int64_t>(next))) : 0;
      switch (number(5)) {
        case 0:
          for (int64_t i = start; i < start + length; ++i) {
            if (blockAt[static_cast<size_t>(i)]) endBlock(*blockAt[static_cast<size_t>(i)]);
          }
          for (int64_t i = start; i < start + length; ++i) blockAt[static_cast<size_t>(i)] = next;
          map.allocate(next++, static_cast<uint64_t>(start), length, {});
          break;
        case 1:
          endBlock(old);
          map.free(old);
          break;
        case 2:
          map.undeclare(old);
          for (auto& regions : regionsAt) regions.erase(old);
          break;
        default: {
          const auto category = static_cast<MemoryCategory>(number(8));
          const bool declared = map.declare(next, static_cast<uint64_t>(start), length, category);
          bool expected = false;
          for (int64_t i = start; i < start + length; ++i) {
            if (!blockAt[static_cast<size_t>(i)]) continue;
            regionsAt[static_cast<size_t>(i)][next] = category;
            expected = true;
          }
          ASSERT_EQ(declared, expected);
          ++next;
        }
      }
      int64_t allocated = 0;
      BytesByCategory declared{};
      for (size_t i = 0; i < kBytes; ++i) {
        allocated += blockAt[i].has_value();
        if (!regionsAt[i].empty()) ++declared[static_cast<size_t>(regionsAt[i].rbegin()->second)];
      }
      const MemoryMap::Totals* totals = map.totals({});
      ASSERT_EQ(totals ? totals->allocatedBytes : 0, allocated) << "seed " << seed << " operation " << operation;
      if (totals) {
        ASSERT_EQ(totals->declaredBytes, declared) << "seed " << seed << " operation " << operation;
      }
      int64_t pieces = 0;
      map.forEachPiece({}, [&](size_t, std::optional<size_t>, uint64_t, int64_t bytes) { pieces += bytes; });
      ASSERT_EQ(pieces, allocated);
    }
  }
}

}  // namespace
}  // namespace plumb
