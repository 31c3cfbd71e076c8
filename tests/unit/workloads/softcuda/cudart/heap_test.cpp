// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/heap.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using softcuda::Heap;

TEST(Heap, FreedNeighboursBecomeOnePiece) {
  Heap heap(4096);
  void* a = heap.allocate(1024, 0);
  void* b = heap.allocate(1024, 0);
  void* c = heap.allocate(2048, 0);
  EXPECT_EQ(heap.allocate(1, 0), nullptr);
  heap.free(a);
  heap.free(c);
  EXPECT_EQ(heap.allocate(3000, 0), nullptr) << "enough, but not in one piece";
  heap.free(b);
  void* all = heap.allocate(4096, 0);
  EXPECT_EQ(all, a);
  heap.free(all);
  EXPECT_EQ(heap.usedBytes(), 0u);
  EXPECT_EQ(heap.peakBytes(), 4096u);
}

TEST(Heap, FindsTheBlockOfAnAddress) {
  Heap heap(1 << 20);
  auto* a = static_cast<std::byte*>(heap.allocate(1000, 7));
  ASSERT_TRUE(heap.find(a + 999));
  EXPECT_EQ(heap.find(a + 999)->address, a);
  EXPECT_EQ(heap.find(a)->label, 7u);
  EXPECT_FALSE(heap.find(a + 1000)) << "rounding is not the program's memory";
  EXPECT_TRUE(heap.contains(a + 1000));
  int local = 0;
  EXPECT_FALSE(heap.contains(&local));
  EXPECT_FALSE(heap.free(&local));
}

TEST(Heap, BlocksNeverOverlapAndAllComesBack) {
  Heap heap(1 << 20);
  std::mt19937 random(7);
  std::vector<std::pair<unsigned char*, std::size_t>> live;
  for (int step = 0; step < 2000; ++step) {
    if (random() % 2 == 0 || live.empty()) {
      const std::size_t bytes = 1 + random() % 20000;
      auto* p = static_cast<unsigned char*>(heap.allocate(bytes, 0));
      if (!p) continue;
      std::fill_n(p, bytes, static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(p) >> 9));
      live.emplace_back(p, bytes);
    } else {
      const std::size_t i = random() % live.size();
      const auto [p, bytes] = live[i];
      const auto mark = static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(p) >> 9);
      EXPECT_EQ(std::count(p, p + bytes, mark), static_cast<std::ptrdiff_t>(bytes));
      ASSERT_TRUE(heap.free(p));
      live[i] = live.back();
      live.pop_back();
    }
  }
  for (const auto& [p, bytes] : live) heap.free(p);
  EXPECT_EQ(heap.usedBytes(), 0u);
  EXPECT_NE(heap.allocate(1 << 20, 0), nullptr);
}
