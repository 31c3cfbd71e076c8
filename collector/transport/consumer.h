// SPDX-License-Identifier: Apache-2.0
// The recorder's side of a segment. The other side may be corrupt or hostile and may change any byte at any time: every
// number is read once and checked, records are copied out before they are looked at, and no call does unbounded work.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collector/schema/result.h"
#include "collector/transport/record_check.h"
#include "collector/transport/segment.h"

namespace plumb::transport {

struct Drained {
  // Whole, well-formed records (record_check.h) without fillers; a part of the caller's buffer.
  std::span<const std::byte> records;
  // The ring holds more: call again.
  bool more = false;
  // The ring's content makes no sense behind these records; it is never read again. Said once.
  bool corrupt = false;
};

struct Losses {
  uint64_t records = 0;
  uint64_t bytes = 0;
};

// The reading end of a process's segment. One thread at a time.
class SegmentConsumer {
 public:
  // Takes over fd (closes it in any case). Refuses what is not a sealed memfd of this version and of the size that its
  // header says.
  [[nodiscard]] static Result<SegmentConsumer> open(int fd);

  SegmentConsumer(SegmentConsumer&& other) noexcept;
  SegmentConsumer& operator=(SegmentConsumer&& other) noexcept;
  SegmentConsumer(const SegmentConsumer&) = delete;
  SegmentConsumer& operator=(const SegmentConsumer&) = delete;
  ~SegmentConsumer();

  [[nodiscard]] uint32_t ringCount() const noexcept { return m_layout.ringCount; }
  [[nodiscard]] uint32_t pid() const noexcept { return m_pid; }
  [[nodiscard]] int64_t monotonicStartNs() const noexcept { return m_monotonicStartNs; }
  [[nodiscard]] int64_t realtimeStartNs() const noexcept { return m_realtimeStartNs; }

  // Moves up to buffer.size() bytes of published records of a ring into buffer and gives their room back to the
  // producer; frees the ring when its thread has ended and all is read. Records of one ring come in the order in which
  // they were written. buffer: 8-byte aligned, at least kMinRingBytes.
  [[nodiscard]] Drained drain(uint32_t ring, std::span<std::byte> buffer) noexcept;

  // What the target could not publish since the last call, all rings and ringless threads together.
  [[nodiscard]] Losses takeLosses() noexcept;

  // The process said that nothing follows (a goodbye that survives a full socket).
  [[nodiscard]] bool finished() const noexcept;

 private:
  SegmentConsumer() noexcept = default;
  [[nodiscard]] RingHeader& ringHeader(uint32_t ring) const noexcept;
  void release() noexcept;

  SegmentLayout m_layout;
  std::byte* m_base = nullptr;
  uint64_t m_mappedBytes = 0;
  uint32_t m_pid = 0;
  int64_t m_monotonicStartNs = 0;
  int64_t m_realtimeStartNs = 0;
  struct Ring {
    uint64_t readPosition = 0;  // our own copy: the shared one is for the producer only
    bool corrupt = false;
  };
  std::vector<Ring> m_rings;
  Losses m_lossesSeen;
};

}  // namespace plumb::transport
