// SPDX-License-Identifier: Apache-2.0
// The memory that a target process shares with the recorder: one sealed memfd per process.
//
//   offset 0                  SegmentHeader      written once by the target before the memfd is passed on
//   kRingTableOffset          RingHeader[ring_count]
//   data_offset               ring_count rings of ring_bytes each (untouched pages cost nothing)
//
// A ring belongs to one thread at a time (single producer) and is read by the recorder (single consumer). It holds
// whole records of collector/api/records.h, one after the other, each a multiple of 8 bytes and contiguous: a record
// that does not fit before the end of the ring is preceded by a filler (kind kInvalid, size = the rest) and starts at
// offset 0.
//
// Positions count bytes since the segment was made and never wrap; the place in the ring is position % ring_bytes.
// Valid at every byte: a record's bytes are written first and write_position is stored (release) after them, so a
// process killed between any two instructions leaves whole records before write_position and nothing that is read
// after.
//
// A ring's life: kFree -> (a thread claims it) kOwned -> (the thread ends) kFinished -> (the recorder has read all)
// kFree. A thread may also claim a kFinished ring and write behind what is still unread, so that many short-lived
// threads do not run out of rings. Positions and loss counters go on counting from one owner to the next.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plumb::transport {

inline constexpr uint64_t kSegmentMagic = 0x4745'5342'4D55'4C50;  // "PLUMBSEG", little endian
inline constexpr uint32_t kSegmentVersion = 1;

inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kRingTableOffset = kPageBytes;

inline constexpr uint32_t kMaxRingCount = 4096;
inline constexpr uint32_t kDefaultRingCount = 256;
inline constexpr uint64_t kMinRingBytes = 64 * 1024;  // more than the longest record
inline constexpr uint64_t kMaxRingBytes = 1024 * 1024 * 1024;
inline constexpr uint64_t kDefaultRingBytes = 8 * 1024 * 1024;

enum class RingState : uint32_t { kFree = 0, kOwned = 1, kFinished = 2 };

// Each line has one writer: no false sharing between the producer and the recorder.
struct RingHeader {
  alignas(64) std::atomic<RingState> state;
  std::atomic<uint32_t> tid;  // of the owner; a hint, every record names its own thread
  alignas(64) std::atomic<uint64_t> write_position;
  std::atomic<uint64_t> dropped_records;  // since the segment was made
  std::atomic<uint64_t> dropped_bytes;
  alignas(64) std::atomic<uint64_t> read_position;
};

struct SegmentHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t ring_header_bytes;  // sizeof(RingHeader)
  uint32_t ring_count;
  uint32_t pid;
  uint64_t ring_bytes;         // a power of two, kMinRingBytes to kMaxRingBytes
  uint64_t data_offset;        // of ring 0
  uint64_t segment_bytes;      // the size of the memfd
  int64_t monotonic_start_ns;  // one instant, read when the segment was made
  int64_t realtime_start_ns;
  std::atomic<uint64_t> ringless_records;  // dropped because no ring was free for their thread
  std::atomic<uint64_t> ringless_bytes;
  std::atomic<uint32_t> finished;  // 1: the process ended normally, nothing follows
  uint32_t reserved;
};

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<RingState>::is_always_lock_free);
static_assert(sizeof(RingHeader) == 192);
static_assert(sizeof(SegmentHeader) <= kRingTableOffset);

// Where things are; computed by the producer, and again by the recorder, which believes nothing but the two counts.
struct SegmentLayout {
  uint32_t ringCount = kDefaultRingCount;
  uint64_t ringBytes = kDefaultRingBytes;

  [[nodiscard]] constexpr bool valid() const noexcept {
    return ringCount >= 1 && ringCount <= kMaxRingCount && ringBytes >= kMinRingBytes && ringBytes <= kMaxRingBytes &&
           (ringBytes & (ringBytes - 1)) == 0;
  }
  [[nodiscard]] constexpr uint64_t dataOffset() const noexcept {
    const uint64_t end = kRingTableOffset + uint64_t{ringCount} * sizeof(RingHeader);
    return (end + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  [[nodiscard]] constexpr uint64_t ringOffset(uint32_t ring) const noexcept { return dataOffset() + ring * ringBytes; }
  [[nodiscard]] constexpr uint64_t segmentBytes() const noexcept { return ringOffset(ringCount); }
};

}  // namespace plumb::transport
