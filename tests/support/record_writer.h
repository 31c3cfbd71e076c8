// SPDX-License-Identifier: Apache-2.0
// Feeds a recorder as a target does: a real segment, real rings, the real messages. Link plumb_transport.
#pragma once
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/api/records.h"
#include "collector/api/time.h"
#include "collector/transport/producer.h"
#include "collector/transport/protocol.h"

namespace plumb::test {

// The hash that this writer uses for texts; the recorder takes ids as they come.
inline StringId textId(std::string_view text) {
  if (text.empty()) return 0;
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash == 0 ? 1 : hash;
}

// One thread of the target with its ring.
class RecordWriter {
 public:
  RecordWriter(transport::RingProducer ring, uint32_t tid) : m_ring(ring), m_tid(tid) {}

  [[nodiscard]] uint32_t tid() const { return m_tid; }
  [[nodiscard]] transport::RingProducer& ring() { return m_ring; }

  // Publishes a record whose header it fills in. False: the ring is full.
  template <class Record>
  bool write(RecordKind kind, Record record, Clock clock = Clock::kMonotonicRaw) {
    record.header = makeHeader<Record>(kind, m_tid, clock);
    const bool written = m_ring.write(&record, sizeof record);
    if (!written) m_ring.countDrop(sizeof record);
    return written;
  }

  // Publishes a text and returns its id.
  StringId text(std::string_view text) {
    StringRecord record{};
    const auto padded = static_cast<uint32_t>((text.size() + 7) / 8 * 8);
    record.header = makeHeader<StringRecord>(RecordKind::kString, m_tid);
    record.header.size_bytes = static_cast<uint16_t>(sizeof record + padded);
    record.id = textId(text);
    record.length_bytes = static_cast<uint32_t>(text.size());
    if (!text.empty()) (void)m_ring.write(&record, sizeof record, text.data(), record.length_bytes);
    return record.id;
  }

  void kernel(StringId name, int64_t startNs, int64_t endNs, uint32_t correlation, uint32_t stream = 7,
              Clock clock = Clock::kMonotonicRaw) {
    KernelRecord record{};
    record.start_ns = startNs;
    record.end_ns = endNs;
    record.name = name;
    record.correlation = correlation;
    record.context = 1;
    record.stream = stream;
    record.grid[0] = record.grid[1] = record.grid[2] = 1;
    record.block[0] = 256;
    record.block[1] = record.block[2] = 1;
    write(RecordKind::kKernel, record, clock);
  }

  void apiCall(StringId name, int64_t startNs, int64_t endNs, uint32_t correlation) {
    ApiCallRecord record{};
    record.start_ns = startNs;
    record.end_ns = endNs;
    record.name = name;
    record.correlation = correlation;
    write(RecordKind::kApiCall, record);
  }

  void push(StringId name, int64_t timeNs, StringId domain = 0) {
    RangeBeginRecord record{};
    record.time_ns = timeNs;
    record.name = name;
    record.domain = domain;
    write(RecordKind::kRangeBegin, record);
  }
  void pop(int64_t timeNs, StringId domain = 0) {
    RangeEndRecord record{};
    record.time_ns = timeNs;
    record.domain = domain;
    write(RecordKind::kRangeEnd, record);
  }
  void payload(StringId name, int64_t value) {
    PayloadFieldRecord record{};
    record.name = name;
    record.integer = value;
    write(RecordKind::kPayloadField, record);
  }

  void allocate(int64_t timeNs, uint64_t address, uint64_t bytes) { allocation(timeNs, address, bytes, 0); }
  void free(int64_t timeNs, uint64_t address) { allocation(timeNs, address, 0, 1); }

  void clockPair(int64_t monotonicNs, int64_t cuptiNs) {
    ClockPairRecord record{};
    record.monotonic_ns = monotonicNs;
    record.realtime_ns = cuptiNs;
    record.cupti_ns = cuptiNs;
    write(RecordKind::kClockPair, record);
  }

 private:
  void allocation(int64_t timeNs, uint64_t address, uint64_t bytes, uint32_t isFree) {
    AllocationRecord record{};
    record.time_ns = timeNs;
    record.address = address;
    record.bytes = bytes;
    record.is_free = isFree;
    record.space = MemorySpace::kDevice;
    record.stream = UINT32_MAX;
    write(RecordKind::kAllocation, record);
  }

  transport::RingProducer m_ring;
  uint32_t m_tid;
};

// A target process that exists only for the recorder.
class FakeTarget {
 public:
  explicit FakeTarget(uint32_t pid = 4711, int32_t rank = 0,
                      transport::SegmentLayout layout = {.ringCount = 8, .ringBytes = 1u << 20}) {
    m_created = m_segment.create(layout);
    m_hello.fixed.pid = pid;
    m_hello.fixed.parent_pid = 1;
    m_hello.fixed.monotonic_ns = monotonicNowNs();
    m_hello.fixed.realtime_ns = realtimeNowNs();
    m_hello.fixed.rank = rank;
    m_hello.fixed.local_rank = rank;
    m_hello.fixed.world_size = 2;
    m_hello.program = "train";
    m_hello.command = "train --steps 5";
    m_hello.host = "node1";
    m_hello.variables = {{"RANK", std::to_string(rank)}};
  }
  ~FakeTarget() { disconnect(); }
  FakeTarget(const FakeTarget&) = delete;
  FakeTarget& operator=(const FakeTarget&) = delete;

  [[nodiscard]] transport::Hello& hello() { return m_hello; }
  [[nodiscard]] transport::SegmentProducer& segment() { return m_segment; }
  // A descriptor for whoever is to read the segment.
  [[nodiscard]] int dupSegment() const { return ::fcntl(m_segment.fd(), F_DUPFD_CLOEXEC, 3); }
  [[nodiscard]] RecordWriter thread(uint32_t tid) { return {m_segment.claimRing(tid), tid}; }
  // When the agent attached: the earliest time of its events.
  [[nodiscard]] int64_t startNs() const { return m_hello.fixed.monotonic_ns; }

  // Waits up to ten seconds for the recorder's socket.
  [[nodiscard]] bool connect(const std::string& sessionDirectory) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = sessionDirectory + "/" + transport::kSocketName;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    m_socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    for (int i = 0; i < 1000; ++i) {
      if (::connect(m_socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return sayHello();
      ::usleep(10'000);
    }
    return false;
  }
  void sayGoodbye() {
    transport::MessageWriter writer(m_buffer);
    writer.begin(transport::MessageType::kGoodbye, transport::MessageHeader{});
    (void)transport::sendPacket(m_socket, writer.finish());
  }
  // As the kernel does when the process dies.
  void disconnect() {
    if (m_socket >= 0) ::close(std::exchange(m_socket, -1));
  }
  // Sends bytes that are no message of the protocol.
  bool sendRaw(std::span<const std::byte> bytes, int fd = -1) { return transport::sendPacket(m_socket, bytes, fd); }

 private:
  bool sayHello() {
    transport::MessageWriter writer(m_buffer);
    m_hello.fixed.variable_count = static_cast<uint32_t>(m_hello.variables.size());
    writer.begin(transport::MessageType::kHello, m_hello.fixed);
    for (const std::string* text : {&m_hello.program, &m_hello.command, &m_hello.host}) writer.text(*text);
    for (const auto& [name, value] : m_hello.variables) {
      writer.text(name);
      writer.text(value);
    }
    return m_created && transport::sendPacket(m_socket, writer.finish(), m_segment.fd());
  }

  transport::SegmentProducer m_segment;
  transport::Hello m_hello;
  std::array<std::byte, transport::kMaxMessageBytes> m_buffer{};
  int m_socket = -1;
  bool m_created = false;
};

}  // namespace plumb::test
