// SPDX-License-Identifier: Apache-2.0
// The other side may write anything into the segment: the consumer refuses or gives up on a ring, but never crashes,
// never loops and never hands out what is not a record.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <random>

#include "tests/unit/collector/transport/numbered_record.h"

namespace plumb::transport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A segment whose bytes the test can reach.
class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(m_producer.create(kSmall));
    m_bytes = static_cast<std::byte*>(
        mmap(nullptr, kSmall.segmentBytes(), PROT_READ | PROT_WRITE, MAP_SHARED, m_producer.fd(), 0));
    m_ring = m_producer.claimRing(1);
  }
  void TearDown() override {
    munmap(m_bytes, kSmall.segmentBytes());
    m_producer.destroy();
  }
  RingHeader& header() { return *reinterpret_cast<RingHeader*>(m_bytes + kRingTableOffset); }
  std::byte* data() { return m_bytes + kSmall.ringOffset(0); }
  template <class Record>
  void place(uint64_t offset, const Record& record) {
    std::memcpy(data() + offset, &record, sizeof record);
  }

  SegmentProducer m_producer;
  std::byte* m_bytes = nullptr;
  RingProducer m_ring;
  DrainBuffer m_buffer;
};

TEST_F(Hostile, WritePositionBeyondTheRing) {
  SegmentConsumer consumer = consumerOf(m_producer);
  header().write_position = kSmall.ringBytes + 8;
  const Drained drained = consumer.drain(0, m_buffer.bytes());
  EXPECT_TRUE(drained.corrupt);
  EXPECT_TRUE(drained.records.empty());
  EXPECT_FALSE(consumer.drain(0, m_buffer.bytes()).corrupt) << "said once";
}

TEST_F(Hostile, WritePositionThatGoesBack) {
  SegmentConsumer consumer = consumerOf(m_producer);
  ASSERT_TRUE(writeNumber(m_ring, 1));
  EXPECT_THAT(drainNumbers(consumer, 0), ElementsAre(1));
  header().write_position = 0;
  EXPECT_TRUE(consumer.drain(0, m_buffer.bytes()).corrupt);
}

TEST_F(Hostile, RecordOfSizeZeroAfterGoodOnes) {
  SegmentConsumer consumer = consumerOf(m_producer);
  ASSERT_TRUE(writeNumber(m_ring, 1));
  ASSERT_TRUE(writeNumber(m_ring, 2));
  place(sizeof(CounterSampleRecord), RecordHeader{0, RecordKind::kCounterSample, Clock::kMonotonicRaw, 1});
  const Drained drained = consumer.drain(0, m_buffer.bytes());
  EXPECT_TRUE(drained.corrupt);
  EXPECT_EQ(drained.records.size(), sizeof(CounterSampleRecord)) << "what came before is kept";
}

TEST_F(Hostile, RecordSmallerThanItsKind) {
  SegmentConsumer consumer = consumerOf(m_producer);
  place(0, RecordHeader{16, RecordKind::kKernel, Clock::kMonotonicRaw, 1});
  header().write_position = 16;
  EXPECT_TRUE(consumer.drain(0, m_buffer.bytes()).corrupt);
}

TEST_F(Hostile, RecordThatReachesBeyondWhatIsPublished) {
  SegmentConsumer consumer = consumerOf(m_producer);
  place(0, RecordHeader{4096, RecordKind::kCounterSample, Clock::kMonotonicRaw, 1});
  header().write_position = 32;
  EXPECT_TRUE(consumer.drain(0, m_buffer.bytes()).corrupt);
}

TEST_F(Hostile, TextLongerThanItsRecord) {
  SegmentConsumer consumer = consumerOf(m_producer);
  StringRecord record{makeHeader<StringRecord>(RecordKind::kString, 1), 1, 1000, 0};
  record.header.size_bytes = 32;
  place(0, record);
  header().write_position = 32;
  EXPECT_TRUE(consumer.drain(0, m_buffer.bytes()).corrupt);
}

TEST_F(Hostile, FillerInTheMiddle) {
  SegmentConsumer consumer = consumerOf(m_producer);
  place(0, RecordHeader{32, RecordKind::kInvalid, Clock::kMonotonicRaw, 1});
  header().write_position = 64;
  EXPECT_TRUE(consumer.drain(0, m_buffer.bytes()).corrupt);
}

TEST_F(Hostile, UnknownKindsArePassedOnForNewerReaders) {
  SegmentConsumer consumer = consumerOf(m_producer);
  place(0, RecordHeader{24, static_cast<RecordKind>(200), Clock::kMonotonicRaw, 1});
  header().write_position = 24;
  const Drained drained = consumer.drain(0, m_buffer.bytes());
  EXPECT_FALSE(drained.corrupt);
  EXPECT_EQ(drained.records.size(), 24u);
}

TEST_F(Hostile, ReadPositionIsNotBelieved) {
  SegmentConsumer consumer = consumerOf(m_producer);
  ASSERT_TRUE(writeNumber(m_ring, 1));
  header().read_position = 1'000'000;
  EXPECT_THAT(drainNumbers(consumer, 0), ElementsAre(1));
}

TEST_F(Hostile, LossesThatGoBackAreNoLosses) {
  SegmentConsumer consumer = consumerOf(m_producer);
  header().dropped_records = 10;
  EXPECT_EQ(consumer.takeLosses().records, 10u);
  header().dropped_records = 3;
  EXPECT_EQ(consumer.takeLosses().records, 0u);
}

// Random bytes and positions, many times: what comes out is well-formed, and every call returns.
TEST_F(Hostile, RandomBytes) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    SegmentConsumer consumer = consumerOf(m_producer);
    for (uint64_t offset = 0; offset < 2048; offset += 8) {
      uint64_t word = random();
      if (random() % 2 == 0) {
        word = (word & 0xFFFF'FFFF'0000'0000) | (random() % 26 << 16) | (random() % 24 * 8);
      }
      std::memcpy(data() + offset, &word, sizeof word);
    }
    header().write_position = random() % 2 == 0 ? random() % 256 * 8 : random();
    header().state = static_cast<RingState>(random() % 5);
    for (int call = 0; call < 4; ++call) {
      const Drained drained = consumer.drain(0, m_buffer.bytes());
      std::span<const std::byte> rest = drained.records;
      while (!rest.empty()) {
        const uint32_t size = wellFormedRecordBytes(rest);
        ASSERT_NE(size, 0u);
        rest = rest.subspan(size);
      }
    }
  }
}

std::string refusalOf(int fd) {
  const Result<SegmentConsumer> consumer = SegmentConsumer::open(fd);
  return consumer.ok() ? "" : consumer.error().message;
}

TEST(HostileSegment, IsRefused) {
  EXPECT_THAT(refusalOf(-1), HasSubstr("not a sealed memory file"));
  EXPECT_THAT(refusalOf(open("/dev/zero", O_RDWR)), HasSubstr("not a sealed memory file"));

  const int unsealed = memfd_create("test", MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, 1 << 20), 0);
  EXPECT_THAT(refusalOf(unsealed), HasSubstr("not a sealed memory file")) << "it could be cut off later";

  const int empty = memfd_create("test", MFD_ALLOW_SEALING);
  fcntl(empty, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  EXPECT_THAT(refusalOf(empty), HasSubstr("not one of Plumbline's"));
}

TEST(HostileSegment, WithSizesThatLieIsRefused) {
  for (const uint64_t ringBytes : {uint64_t{0}, uint64_t{1} << 60, kMinRingBytes + 8, 2 * kMinRingBytes}) {
    const int fd = memfd_create("test", MFD_ALLOW_SEALING);
    ASSERT_EQ(ftruncate(fd, static_cast<off_t>(kSmall.segmentBytes())), 0);
    SegmentHeader header{};
    header.magic = kSegmentMagic;
    header.version = kSegmentVersion;
    header.ring_header_bytes = sizeof(RingHeader);
    header.ring_count = kSmall.ringCount;
    header.ring_bytes = ringBytes;
    header.data_offset = kSmall.dataOffset();
    header.segment_bytes = kSmall.segmentBytes();
    ASSERT_EQ(pwrite(fd, &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    EXPECT_THAT(refusalOf(fd), HasSubstr("contradict each other")) << ringBytes;
  }
}

}  // namespace
}  // namespace plumb::transport
