// SPDX-License-Identifier: Apache-2.0
#include "collector/transport/consumer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace plumb::transport {
namespace {

struct FdCloser {
  int fd;
  ~FdCloser() {
    if (fd >= 0) {
      close(fd);
    }
  }
};

Error refusal(const char* why) {
  return Error{std::string("A process offered a shared-memory segment that cannot be used: ") + why +
               ". Nothing of this process is recorded; use a libplumb.so and a plumb-recorder of the same version."};
}

// A filler fills the ring to its end and does nothing else.
bool isFiller(std::span<const std::byte> bytes) noexcept {
  RecordHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.kind == RecordKind::kInvalid && header.size_bytes == bytes.size();
}

}  // namespace

Result<SegmentConsumer> SegmentConsumer::open(int fd) {
  const FdCloser closer{fd};
  struct stat status {};
  constexpr int kNeededSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
  // Only a sealed file is safe to map: were it cut off later, reading it would raise SIGBUS.
  if (seals < 0 || (seals & kNeededSeals) != kNeededSeals || fstat(fd, &status) != 0) {
    return refusal("it is not a sealed memory file");
  }
  const auto fileBytes = static_cast<uint64_t>(status.st_size);
  SegmentHeader header;
  if (fileBytes < kRingTableOffset || pread(fd, static_cast<void*>(&header), sizeof header, 0) != sizeof header ||
      header.magic != kSegmentMagic) {
    return refusal("it is not one of Plumbline's");
  }
  const SegmentLayout layout{header.ring_count, header.ring_bytes};
  if (header.version != kSegmentVersion || header.ring_header_bytes != sizeof(RingHeader)) {
    return refusal("its version is another one");
  }
  if (!layout.valid() || fileBytes != layout.segmentBytes() || header.segment_bytes != fileBytes ||
      header.data_offset != layout.dataOffset()) {
    return refusal("its sizes contradict each other");
  }
  void* base = mmap(nullptr, fileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) {
    return refusal("it cannot be mapped into memory");
  }
  SegmentConsumer consumer;
  consumer.m_layout = layout;
  consumer.m_base = static_cast<std::byte*>(base);
  consumer.m_mappedBytes = fileBytes;
  consumer.m_pid = header.pid;
  consumer.m_monotonicStartNs = header.monotonic_start_ns;
  consumer.m_realtimeStartNs = header.realtime_start_ns;
  consumer.m_rings.resize(layout.ringCount);
  return consumer;
}

SegmentConsumer::SegmentConsumer(SegmentConsumer&& other) noexcept { *this = std::move(other); }

SegmentConsumer& SegmentConsumer::operator=(SegmentConsumer&& other) noexcept {
  if (this != &other) {
    release();
    m_layout = other.m_layout;
    m_base = std::exchange(other.m_base, nullptr);
    m_mappedBytes = other.m_mappedBytes;
    m_pid = other.m_pid;
    m_monotonicStartNs = other.m_monotonicStartNs;
    m_realtimeStartNs = other.m_realtimeStartNs;
    m_rings = std::move(other.m_rings);
    m_lossesSeen = other.m_lossesSeen;
  }
  return *this;
}

SegmentConsumer::~SegmentConsumer() { release(); }

void SegmentConsumer::release() noexcept {
  if (m_base != nullptr) {
    munmap(m_base, m_mappedBytes);
    m_base = nullptr;
  }
}

RingHeader& SegmentConsumer::ringHeader(uint32_t ring) const noexcept {
  return reinterpret_cast<RingHeader*>(m_base + kRingTableOffset)[ring];
}

Drained SegmentConsumer::drain(uint32_t ring, std::span<std::byte> buffer) noexcept {
  Ring& own = m_rings[ring];
  if (own.corrupt) {
    return {};
  }
  RingHeader& header = ringHeader(ring);
  // In this order: once the state says that the thread has ended, the position read after it is the last one.
  const RingState state = header.state.load(std::memory_order_acquire);
  const uint64_t write = header.write_position.load(std::memory_order_acquire);
  const uint64_t available = write - own.readPosition;
  if (available == 0) {
    if (state == RingState::kFinished) {
      RingState expected = RingState::kFinished;
      header.state.compare_exchange_strong(expected, RingState::kFree, std::memory_order_acq_rel);
    }
    return {};
  }
  if (available > m_layout.ringBytes || available % 8 != 0) {
    own.corrupt = true;
    return {.records = {}, .more = false, .corrupt = true};
  }

  const uint64_t offset = own.readPosition & (m_layout.ringBytes - 1);
  const uint64_t beforeEnd = m_layout.ringBytes - offset;
  const uint64_t published = std::min(available, beforeEnd);
  const uint64_t copied = std::min<uint64_t>(published, buffer.size() / 8 * 8);
  std::memcpy(buffer.data(), m_base + m_layout.ringOffset(ring) + offset, copied);
  const std::span<const std::byte> bytes = buffer.first(copied);

  uint64_t whole = 0;
  while (whole < copied) {
    const uint32_t size = wellFormedRecordBytes(bytes.subspan(whole));
    if (size == 0) {
      break;
    }
    whole += size;
  }
  const std::span<const std::byte> rest = bytes.subspan(whole);
  uint64_t consumed = whole;
  if (!rest.empty()) {
    if (copied == beforeEnd && isFiller(rest)) {
      consumed = copied;
    } else if (copied == published || whole == 0) {
      own.corrupt = true;  // all that was published is here, so this record is no record
    }
  }
  own.readPosition += consumed;
  header.read_position.store(own.readPosition, std::memory_order_release);
  return {.records = bytes.first(whole), .more = !own.corrupt && consumed < available, .corrupt = own.corrupt};
}

Losses SegmentConsumer::takeLosses() noexcept {
  const auto* header = reinterpret_cast<const SegmentHeader*>(m_base);
  Losses sum{header->ringless_records.load(std::memory_order_relaxed),
             header->ringless_bytes.load(std::memory_order_relaxed)};
  for (uint32_t ring = 0; ring < m_layout.ringCount; ++ring) {
    sum.records += ringHeader(ring).dropped_records.load(std::memory_order_relaxed);
    sum.bytes += ringHeader(ring).dropped_bytes.load(std::memory_order_relaxed);
  }
  Losses news;
  news.records = sum.records > m_lossesSeen.records ? sum.records - m_lossesSeen.records : 0;
  news.bytes = sum.bytes > m_lossesSeen.bytes ? sum.bytes - m_lossesSeen.bytes : 0;
  m_lossesSeen = sum;
  return news;
}

bool SegmentConsumer::finished() const noexcept {
  return reinterpret_cast<const SegmentHeader*>(m_base)->finished.load(std::memory_order_acquire) != 0;
}

}  // namespace plumb::transport
