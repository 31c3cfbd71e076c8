// SPDX-License-Identifier: Apache-2.0
// The target's side of a segment. Nothing here allocates from the heap, locks, throws or blocks.
#pragma once
#include "collector/transport/segment.h"

namespace plumb::transport {

// The writing end of one ring; owned by one thread.
class RingProducer {
 public:
  RingProducer() noexcept = default;
  // data: the ring's bytes, mapped. header and data outlive the producer.
  RingProducer(RingHeader* header, std::byte* data, uint64_t ringBytes) noexcept;

  [[nodiscard]] bool attached() const noexcept { return m_header != nullptr; }

  // Publishes head followed by tail, padded with zeros to a multiple of 8, as one record whose RecordHeader::size_bytes
  // says that size. False: no room, nothing was written or counted.
  [[nodiscard]] bool write(const void* head, uint32_t headBytes, const void* tail = nullptr,
                           uint32_t tailBytes = 0) noexcept;

  // Counts a record that was given up.
  void countDrop(uint64_t bytes) noexcept;

  // The thread has ended: the recorder frees the ring when it has read the rest.
  void finish() noexcept;

 private:
  [[nodiscard]] bool hasRoom(uint64_t bytes) noexcept;

  RingHeader* m_header = nullptr;
  std::byte* m_data = nullptr;
  uint64_t m_ringBytes = 0;
  uint64_t m_write = 0;
  uint64_t m_readSeen = 0;  // a past read_position; re-read only when the ring looks full
};

// The segment of this process.
class SegmentProducer {
 public:
  SegmentProducer() noexcept = default;

  // Makes, seals and maps the memfd (close-on-exec, not in core dumps). False, errno set: nothing is left behind.
  [[nodiscard]] bool create(const SegmentLayout& layout) noexcept;
  // Undoes create(); no RingProducer may be in use.
  void destroy() noexcept;

  [[nodiscard]] bool created() const noexcept { return m_base != nullptr; }
  // The memfd, to be passed on; -1 after closeFd().
  [[nodiscard]] int fd() const noexcept { return m_fd; }
  void closeFd() noexcept;

  // Any thread, any number of threads: a ring for the calling thread; !attached() when all are taken.
  [[nodiscard]] RingProducer claimRing(uint32_t tid) noexcept;
  // The owner of a ring, 0: none. For any thread; may be out of date.
  [[nodiscard]] uint32_t owner(uint32_t ring) const noexcept;
  [[nodiscard]] uint32_t ringCount() const noexcept { return m_layout.ringCount; }
  // A record of a thread that has no ring was given up.
  void countRingless(uint64_t bytes) noexcept;
  // The process ends normally.
  void finish() noexcept;
  // After fork, in the child: forgets everything and touches nothing that the parent uses. The mapping stays, so that a
  // write that fork interrupted (in a signal handler) does not crash.
  void abandon() noexcept;

 private:
  [[nodiscard]] SegmentHeader& header() const noexcept;
  [[nodiscard]] RingProducer claim(uint32_t ring, uint32_t tid, uint64_t neededRoom) noexcept;
  [[nodiscard]] RingHeader& ringHeader(uint32_t ring) const noexcept;

  SegmentLayout m_layout;
  std::byte* m_base = nullptr;
  int m_fd = -1;
};

}  // namespace plumb::transport
