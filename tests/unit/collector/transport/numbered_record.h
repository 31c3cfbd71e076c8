// SPDX-License-Identifier: Apache-2.0
// Records that can be told apart: a counter sample whose time is a number, or a text that repeats a number.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "collector/api/records.h"
#include "collector/transport/consumer.h"
#include "collector/transport/producer.h"

namespace plumb::transport {

inline CounterSampleRecord numbered(int64_t number) {
  return {makeHeader<CounterSampleRecord>(RecordKind::kCounterSample, 1), number, 7, static_cast<double>(number)};
}

inline bool writeNumber(RingProducer& ring, int64_t number) {
  const CounterSampleRecord record = numbered(number);
  return ring.write(&record, sizeof record);
}

// A record whose length depends on the number, so that records end at every offset of the ring.
inline bool writeText(RingProducer& ring, int64_t number) {
  const std::string text(static_cast<size_t>(number * 37 % 1999), static_cast<char>('a' + number % 26));
  StringRecord record{makeHeader<StringRecord>(RecordKind::kString, 1), static_cast<StringId>(number),
                      static_cast<uint32_t>(text.size()), 0};
  record.header.size_bytes = static_cast<uint16_t>((sizeof record + text.size() + 7) & ~size_t{7});
  return ring.write(&record, sizeof record, text.data(), record.length_bytes);
}

inline bool isIntact(const StringRecord& record) {
  const auto number = static_cast<int64_t>(record.id);
  return textOf(record) == std::string(static_cast<size_t>(number * 37 % 1999), static_cast<char>('a' + number % 26));
}

// The consumer's view of a producer in this process.
inline SegmentConsumer consumerOf(const SegmentProducer& producer) {
  Result<SegmentConsumer> consumer = SegmentConsumer::open(dup(producer.fd()));
  if (!consumer.ok()) {
    throw std::runtime_error(consumer.error().message);
  }
  return std::move(consumer).value();
}

class DrainBuffer {
 public:
  explicit DrainBuffer(size_t bytes = kMinRingBytes) : m_words(bytes / sizeof(uint64_t)) {}
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(m_words)); }

 private:
  std::vector<uint64_t> m_words;
};

// The numbers of all records that a ring holds now.
inline std::vector<int64_t> drainNumbers(SegmentConsumer& consumer, uint32_t ring) {
  DrainBuffer buffer;
  std::vector<int64_t> numbers;
  for (bool more = true; more;) {
    const Drained drained = consumer.drain(ring, buffer.bytes());
    forEachRecord(drained.records, [&](const RecordHeader& header) {
      if (header.kind == RecordKind::kString) {
        const auto& record = recordAs<StringRecord>(header);
        numbers.push_back(isIntact(record) ? static_cast<int64_t>(record.id) : -1);
      } else {
        numbers.push_back(recordAs<CounterSampleRecord>(header).time_ns);
      }
    });
    more = drained.more;
  }
  return numbers;
}

inline constexpr SegmentLayout kSmall{.ringCount = 4, .ringBytes = kMinRingBytes};

}  // namespace plumb::transport
