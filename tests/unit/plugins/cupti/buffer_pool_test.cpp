// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/buffer_pool.h"

#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace plumb::cupti {
namespace {

TEST(BufferPool, HandsOutEachBlockOnce) {
  static BufferPool pool;
  ASSERT_TRUE(pool.reserve(3));
  const std::set<uint8_t*> blocks{pool.take(), pool.take(), pool.take()};
  EXPECT_EQ(blocks.size(), 3u);
  EXPECT_EQ(pool.take(), nullptr) << "the cap";
  EXPECT_EQ(pool.takenBlocks(), 3u);
}

TEST(BufferPool, BlocksComeBackZeroed) {
  static BufferPool pool;
  ASSERT_TRUE(pool.reserve(1));
  uint8_t* block = pool.take();
  for (size_t i = 0; i < 100; ++i) {
    block[i] = 0xAB;
  }
  ASSERT_TRUE(pool.claim(block));
  pool.giveBack(block, 100);
  uint8_t* again = pool.take();
  ASSERT_EQ(again, block);
  for (size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(again[i], 0);
  }
}

TEST(BufferPool, ABlockIsClaimedOncePerTake) {
  static BufferPool pool;
  ASSERT_TRUE(pool.reserve(1));
  uint8_t* block = pool.take();
  EXPECT_TRUE(pool.claim(block));
  EXPECT_FALSE(pool.claim(block)) << "delivered twice";
  pool.giveBack(block, 0);
  EXPECT_FALSE(pool.claim(block)) << "delivered after it came back";
}

TEST(BufferPool, BlocksBeyondTheCapAreUsable) {
  static BufferPool pool;
  ASSERT_TRUE(pool.reserve(1));
  uint8_t* extra = pool.takeBeyondCap();
  ASSERT_NE(extra, nullptr);
  extra[BufferPool::kBlockBytes - 1] = 1;
  EXPECT_TRUE(pool.claim(extra));
  pool.giveBack(extra, BufferPool::kBlockBytes);
}

TEST(BufferPool, ThreadsNeverShareABlock) {
  static BufferPool pool;
  ASSERT_TRUE(pool.reserve(4));
  std::vector<std::thread> threads;
  std::atomic<int> clashes{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        uint8_t* block = pool.take();
        if (!block) {
          continue;
        }
        clashes += block[0] != 0;
        block[0] = static_cast<uint8_t>(t + 1);
        clashes += block[0] != t + 1;
        pool.claim(block);
        pool.giveBack(block, 1);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(clashes, 0);
  EXPECT_EQ(pool.takenBlocks(), 0u);
}

}  // namespace
}  // namespace plumb::cupti
