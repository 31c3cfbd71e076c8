// SPDX-License-Identifier: Apache-2.0
#include "collector/transport/producer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "collector/api/records.h"
#include "collector/api/time.h"

namespace plumb::transport {

RingProducer::RingProducer(RingHeader* header, std::byte* data, uint64_t ringBytes) noexcept
    : m_header(header),
      m_data(data),
      m_ringBytes(ringBytes),
      m_write(header->write_position.load(std::memory_order_relaxed)),
      m_readSeen(header->read_position.load(std::memory_order_acquire)) {}

bool RingProducer::hasRoom(uint64_t bytes) noexcept {
  if (m_write + bytes - m_readSeen <= m_ringBytes) {
    return true;
  }
  m_readSeen = m_header->read_position.load(std::memory_order_acquire);
  return m_write + bytes - m_readSeen <= m_ringBytes;
}

bool RingProducer::write(const void* head, uint32_t headBytes, const void* tail, uint32_t tailBytes) noexcept {
  const uint64_t recordBytes = (uint64_t{headBytes} + tailBytes + 7) & ~uint64_t{7};
  uint64_t offset = m_write & (m_ringBytes - 1);
  const uint64_t beforeEnd = m_ringBytes - offset;
  const uint64_t fillerBytes = recordBytes > beforeEnd ? beforeEnd : 0;
  if (!hasRoom(fillerBytes + recordBytes)) {
    return false;
  }
  if (fillerBytes != 0) {
    // beforeEnd < recordBytes <= UINT16_MAX, so the size fits.
    const RecordHeader filler{static_cast<uint16_t>(fillerBytes), RecordKind::kInvalid, Clock::kMonotonicRaw, 0};
    std::memcpy(m_data + offset, &filler, sizeof filler);
    offset = 0;
  }
  std::byte* place = m_data + offset;
  std::memcpy(place, head, headBytes);
  if (tailBytes != 0) {
    std::memcpy(place + headBytes, tail, tailBytes);
  }
  const uint64_t written = uint64_t{headBytes} + tailBytes;
  std::memset(place + written, 0, recordBytes - written);
  m_write += fillerBytes + recordBytes;
  m_header->write_position.store(m_write, std::memory_order_release);
  return true;
}

void RingProducer::countDrop(uint64_t bytes) noexcept {
  // Only the owner writes these: no read-modify-write needed.
  m_header->dropped_records.store(m_header->dropped_records.load(std::memory_order_relaxed) + 1,
                                  std::memory_order_relaxed);
  m_header->dropped_bytes.store(m_header->dropped_bytes.load(std::memory_order_relaxed) + bytes,
                                std::memory_order_relaxed);
}

void RingProducer::finish() noexcept {
  if (m_header != nullptr) {
    m_header->state.store(RingState::kFinished, std::memory_order_release);
    m_header = nullptr;
  }
}

bool SegmentProducer::create(const SegmentLayout& layout) noexcept {
  if (!layout.valid()) {
    errno = EINVAL;
    return false;
  }
  // Growing a file past this limit would end the process (SIGXFSZ).
  rlimit fileSize{};
  if (getrlimit(RLIMIT_FSIZE, &fileSize) == 0 && fileSize.rlim_cur != RLIM_INFINITY &&
      fileSize.rlim_cur < layout.segmentBytes()) {
    errno = EFBIG;
    return false;
  }
  const int fd = memfd_create("plumb", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) {
    return false;
  }
  const uint64_t bytes = layout.segmentBytes();
  void* base = MAP_FAILED;
  // Sealed, so that the recorder's mapping can never be cut off under it.
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  }
  if (base == MAP_FAILED) {
    const int error = errno;
    close(fd);
    errno = error;
    return false;
  }
  madvise(base, bytes, MADV_DONTDUMP);
  m_layout = layout;
  m_fd = fd;
  m_base = static_cast<std::byte*>(base);
  new (base) SegmentHeader{.magic = kSegmentMagic,
                           .version = kSegmentVersion,
                           .ring_header_bytes = sizeof(RingHeader),
                           .ring_count = layout.ringCount,
                           .pid = static_cast<uint32_t>(getpid()),
                           .ring_bytes = layout.ringBytes,
                           .data_offset = layout.dataOffset(),
                           .segment_bytes = bytes,
                           .monotonic_start_ns = monotonicNowNs(),
                           .realtime_start_ns = realtimeNowNs(),
                           .ringless_records = 0,
                           .ringless_bytes = 0,
                           .finished = 0,
                           .reserved = 0};
  return true;
}

void SegmentProducer::destroy() noexcept {
  if (m_base != nullptr) {
    munmap(m_base, m_layout.segmentBytes());
    m_base = nullptr;
  }
  closeFd();
}

void SegmentProducer::closeFd() noexcept {
  if (m_fd >= 0) {
    close(m_fd);
    m_fd = -1;
  }
}

SegmentHeader& SegmentProducer::header() const noexcept { return *reinterpret_cast<SegmentHeader*>(m_base); }

RingHeader& SegmentProducer::ringHeader(uint32_t ring) const noexcept {
  return reinterpret_cast<RingHeader*>(m_base + kRingTableOffset)[ring];
}

RingProducer SegmentProducer::claim(uint32_t ring, uint32_t tid, uint64_t neededRoom) noexcept {
  RingHeader& ringState = ringHeader(ring);
  RingState state = ringState.state.load(std::memory_order_acquire);
  const uint64_t unread = ringState.write_position.load(std::memory_order_relaxed) -
                          ringState.read_position.load(std::memory_order_relaxed);
  if (state == RingState::kOwned || (state == RingState::kFinished && m_layout.ringBytes - unread < neededRoom) ||
      !ringState.state.compare_exchange_strong(state, RingState::kOwned, std::memory_order_acq_rel)) {
    return {};
  }
  ringState.tid.store(tid, std::memory_order_relaxed);
  return {&ringState, m_base + m_layout.ringOffset(ring), m_layout.ringBytes};
}

RingProducer SegmentProducer::claimRing(uint32_t tid) noexcept {
  // The lowest ring with room: rings that were used before cost no new memory. Failing that, any.
  for (const uint64_t neededRoom : {m_layout.ringBytes / 2, uint64_t{0}}) {
    for (uint32_t ring = 0; ring < m_layout.ringCount; ++ring) {
      if (const RingProducer claimed = claim(ring, tid, neededRoom); claimed.attached()) {
        return claimed;
      }
    }
  }
  return {};
}

uint32_t SegmentProducer::owner(uint32_t ring) const noexcept {
  const RingHeader& ringState = ringHeader(ring);
  return ringState.state.load(std::memory_order_acquire) == RingState::kOwned
             ? ringState.tid.load(std::memory_order_relaxed)
             : 0;
}

void SegmentProducer::countRingless(uint64_t bytes) noexcept {
  header().ringless_records.fetch_add(1, std::memory_order_relaxed);
  header().ringless_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void SegmentProducer::finish() noexcept { header().finished.store(1, std::memory_order_release); }

void SegmentProducer::abandon() noexcept {
  m_base = nullptr;
  closeFd();
}

}  // namespace plumb::transport
