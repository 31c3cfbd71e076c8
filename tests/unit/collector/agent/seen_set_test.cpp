// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/seen_set.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace plumb::agent {
namespace {

TEST(HashText, IsZeroForTheEmptyTextOnly) {
  EXPECT_EQ(hashText(""), 0u);
  EXPECT_NE(hashText(std::string_view("\0", 1)), 0u);
}

TEST(HashText, TellsTextsApart) {
  std::set<uint64_t> ids;
  std::set<std::string> texts;
  for (int i = 0; i < 20'000; ++i) {
    texts.insert("block " + std::to_string(i));
    texts.insert(std::string(static_cast<size_t>(i % 200), 'a'));
    texts.insert(std::string(static_cast<size_t>(i % 64), '\0') + std::to_string(i));
  }
  for (const std::string& text : texts) {
    ids.insert(hashText(text));
  }
  EXPECT_EQ(ids.size() + 1 - ids.count(0), texts.size() + 1 - texts.count(""));
}

TEST(SeenSet, RemembersWhatWasInserted) {
  SeenSet set;
  EXPECT_FALSE(set.contains(5)) << "before create()";
  ASSERT_TRUE(set.create());
  EXPECT_FALSE(set.contains(5));
  set.insert(5);
  set.insert(5 + SeenSet::kSlots);  // the same place
  EXPECT_TRUE(set.contains(5));
  EXPECT_TRUE(set.contains(5 + SeenSet::kSlots));
  EXPECT_FALSE(set.contains(5 + 2 * SeenSet::kSlots));
  set.destroy();
}

TEST(SeenSet, ForgetsButNeverInventsWhenFull) {
  SeenSet set;
  ASSERT_TRUE(set.create());
  for (uint64_t id = 1; id <= 2 * SeenSet::kSlots; ++id) {
    set.insert(id * 0x9E37'79B9'7F4A'7C15);
  }
  for (uint64_t id = 2 * SeenSet::kSlots + 1; id <= 3 * SeenSet::kSlots; ++id) {
    ASSERT_FALSE(set.contains(id * 0x9E37'79B9'7F4A'7C15));
  }
  set.destroy();
}

TEST(SeenSet, ServesManyThreads) {
  SeenSet set;
  ASSERT_TRUE(set.create());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&set] {
      for (uint64_t id = 1; id < 5000; ++id) {
        set.insert(hashText(std::to_string(id)));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (uint64_t id = 1; id < 5000; ++id) {
    EXPECT_TRUE(set.contains(hashText(std::to_string(id))));
  }
  set.destroy();
}

TEST(SeenSet, IsEmptyInAForkedChild) {
  SeenSet set;
  ASSERT_TRUE(set.create());
  set.insert(5);
  const pid_t child = fork();
  if (child == 0) {
    _exit(set.contains(5) ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the child publishes its texts itself";
  set.destroy();
}

}  // namespace
}  // namespace plumb::agent
