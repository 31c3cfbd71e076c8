// SPDX-License-Identifier: Apache-2.0
// What goes into a ring comes out of it: all of it, in order, once; or it is counted.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <numeric>
#include <optional>
#include <thread>

#include "tests/unit/collector/transport/numbered_record.h"

namespace plumb::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Ring : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(m_producer.create(kSmall));
    m_consumer.emplace(consumerOf(m_producer));
  }
  void TearDown() override { m_producer.destroy(); }

  SegmentProducer m_producer;
  std::optional<SegmentConsumer> m_consumer;
};

TEST_F(Ring, HandsRecordsOverInOrder) {
  RingProducer ring = m_producer.claimRing(42);
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(writeNumber(ring, i));
  }
  EXPECT_THAT(drainNumbers(*m_consumer, 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(drainNumbers(*m_consumer, 0), IsEmpty());
}

TEST_F(Ring, KeepsRecordsWholeWhereItWrapsAround) {
  RingProducer ring = m_producer.claimRing(42);
  int64_t written = 0;
  int64_t read = 0;
  // Several times round, with texts that end everywhere.
  while (written < 2000) {
    while (writeText(ring, written)) {
      ++written;
    }
    for (const int64_t number : drainNumbers(*m_consumer, 0)) {
      ASSERT_EQ(number, read);
      ++read;
    }
  }
  EXPECT_EQ(read, written);
}

TEST_F(Ring, RefusesWhatDoesNotFitAndStaysReadable) {
  RingProducer ring = m_producer.claimRing(42);
  int64_t written = 0;
  while (writeNumber(ring, written)) {
    ++written;
  }
  EXPECT_GE(static_cast<uint64_t>(written) * sizeof(CounterSampleRecord), kSmall.ringBytes - 64);
  ring.countDrop(32);
  ring.countDrop(32);
  EXPECT_EQ(drainNumbers(*m_consumer, 0).size(), static_cast<size_t>(written));
  EXPECT_TRUE(writeNumber(ring, written));
  const Losses losses = m_consumer->takeLosses();
  EXPECT_EQ(losses.records, 2u);
  EXPECT_EQ(losses.bytes, 64u);
  EXPECT_EQ(m_consumer->takeLosses().records, 0u) << "each loss is told once";
}

TEST_F(Ring, BelongsToOneThreadAtATime) {
  for (uint32_t i = 0; i < kSmall.ringCount; ++i) {
    ASSERT_TRUE(m_producer.claimRing(i + 1).attached());
    EXPECT_EQ(m_producer.owner(i), i + 1);
  }
  EXPECT_FALSE(m_producer.claimRing(99).attached()) << "all are taken";
  m_producer.countRingless(56);
  EXPECT_EQ(m_consumer->takeLosses().records, 1u);
}

TEST_F(Ring, GoesToAnotherThreadWhenItsOwnHasEnded) {
  for (int64_t i = 0; i < 20; ++i) {  // more threads than rings, and nobody reads
    RingProducer ring = m_producer.claimRing(static_cast<uint32_t>(i + 1));
    ASSERT_TRUE(ring.attached());
    EXPECT_EQ(m_producer.owner(0), static_cast<uint32_t>(i + 1)) << "no new memory is touched";
    ASSERT_TRUE(writeNumber(ring, i));
    ring.finish();
    EXPECT_EQ(m_producer.owner(0), 0u);
  }
  std::vector<int64_t> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(drainNumbers(*m_consumer, 0), expected);
  (void)drainNumbers(*m_consumer, 0);
  RingProducer next = m_producer.claimRing(99);
  ASSERT_TRUE(writeNumber(next, 20));
  EXPECT_THAT(drainNumbers(*m_consumer, 0), ElementsAre(20));
}

TEST_F(Ring, ThatIsNearlyFullIsTakenLast) {
  RingProducer first = m_producer.claimRing(1);
  while (writeNumber(first, 0)) {
  }
  first.finish();
  for (uint32_t i = 1; i < kSmall.ringCount; ++i) {
    ASSERT_TRUE(m_producer.claimRing(i + 1).attached());
    EXPECT_EQ(m_producer.owner(0), 0u);
  }
  ASSERT_TRUE(m_producer.claimRing(99).attached());
  EXPECT_EQ(m_producer.owner(0), 99u);
}

TEST_F(Ring, TakesTheLongestText) {
  RingProducer ring = m_producer.claimRing(42);
  const std::string text(kMaxTextBytes, 'x');
  StringRecord record{makeHeader<StringRecord>(RecordKind::kString, 1), 1, kMaxTextBytes, 0};
  record.header.size_bytes = static_cast<uint16_t>(sizeof record + text.size());
  ASSERT_TRUE(ring.write(&record, sizeof record, text.data(), record.length_bytes));
  DrainBuffer buffer;
  const Drained drained = m_consumer->drain(0, buffer.bytes());
  ASSERT_FALSE(drained.corrupt);
  EXPECT_EQ(textOf(recordAs<StringRecord>(*reinterpret_cast<const RecordHeader*>(drained.records.data()))), text);
}

TEST_F(Ring, SaysWhenTheProcessHasFinished) {
  EXPECT_FALSE(m_consumer->finished());
  m_producer.finish();
  EXPECT_TRUE(m_consumer->finished());
}

TEST(Segment, CostsNoMemoryUntilItIsUsed) {
  SegmentProducer producer;
  ASSERT_TRUE(producer.create(SegmentLayout{.ringCount = 256, .ringBytes = 4 * 1024 * 1024}));
  struct stat status {};
  fstat(producer.fd(), &status);
  EXPECT_GE(status.st_size, 1024 * 1024 * 1024);
  EXPECT_LE(status.st_blocks * 512, 64 * 1024);
  producer.destroy();
}

TEST(Segment, RefusesImpossibleSizes) {
  SegmentProducer producer;
  EXPECT_FALSE(producer.create(SegmentLayout{.ringCount = 0, .ringBytes = kMinRingBytes}));
  EXPECT_FALSE(producer.create(SegmentLayout{.ringCount = 1, .ringBytes = kMinRingBytes + 8}));
  EXPECT_FALSE(producer.created());
}

// One thread writes, another reads, both as fast as they can: for ThreadSanitizer too.
TEST(Threads, ReadWhileOthersWrite) {
  constexpr int64_t kRecords = 50'000;
  SegmentProducer producer;
  ASSERT_TRUE(producer.create(kSmall));
  SegmentConsumer consumer = consumerOf(producer);
  std::atomic<int> running{2};
  std::vector<std::thread> writers;
  std::atomic<int64_t> refused{0};
  for (uint32_t i = 0; i < 2; ++i) {
    writers.emplace_back([&producer, &running, &refused, i] {
      RingProducer ring = producer.claimRing(i + 1);
      for (int64_t number = 0; number < kRecords;) {
        if (writeNumber(ring, number)) {
          ++number;
        } else {
          ++refused;
          std::this_thread::yield();
        }
      }
      ring.finish();
      --running;
    });
  }
  std::vector<int64_t> next(kSmall.ringCount, 0);
  for (bool last = false; !last;) {
    last = running == 0;
    for (uint32_t ring = 0; ring < kSmall.ringCount; ++ring) {
      for (const int64_t number : drainNumbers(consumer, ring)) {
        // A ring may serve one writer after the other.
        next[ring] = number == 0 ? 0 : next[ring];
        ASSERT_EQ(number, next[ring]++);
      }
    }
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  producer.destroy();
}

}  // namespace
}  // namespace plumb::transport
