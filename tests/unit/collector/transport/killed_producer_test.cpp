// SPDX-License-Identifier: Apache-2.0
// A process that is killed between any two instructions leaves whole records, and all that it had published.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <random>

#include "tests/unit/collector/transport/numbered_record.h"

namespace plumb::transport {
namespace {

// What the child says that it has published, in memory of its own.
struct Progress {
  std::atomic<int64_t> written{0};
};

TEST(KilledProducer, LeavesWholeRecordsAndAllThatWasPublished) {
  std::mt19937 random(7);
  constexpr int kRounds = 40;
  int64_t total = 0;
  for (int round = 0; round < kRounds; ++round) {
    SegmentProducer producer;
    ASSERT_TRUE(producer.create(kSmall));
    SegmentConsumer consumer = consumerOf(producer);
    auto* progress = new (mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Progress;
    const pid_t child = fork();
    if (child == 0) {
      RingProducer ring = producer.claimRing(1);
      for (int64_t number = 0;; number += writeText(ring, number) ? 1 : 0) {
        progress->written.store(number, std::memory_order_release);
      }
    }
    int64_t read = 0;
    const auto check = [&] {
      for (const int64_t number : drainNumbers(consumer, 0)) {
        ASSERT_EQ(number, read) << "a record is missing or damaged";
        ++read;
      }
    };
    const unsigned passes = random() % 20;
    for (unsigned i = 0; i < passes; ++i) {
      check();
      usleep(random() % 200);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    check();
    // It may have published one more than it had said.
    EXPECT_GE(read, progress->written.load());
    EXPECT_LE(read, progress->written.load() + 1);
    total += read;
    munmap(progress, 4096);
    producer.destroy();
  }
  EXPECT_GT(total, 0);
}

}  // namespace
}  // namespace plumb::transport
