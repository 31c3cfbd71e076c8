// SPDX-License-Identifier: Apache-2.0
// The shared memory through which the ranks of one communicator meet and exchange data. It is an anonymous file (memfd)
// that the unique id names by process and descriptor: nothing is left behind, whoever is killed when.
//
// Waiting: every rank has one bell (a futex). Whoever changes something that a rank may wait for rings that rank's bell
// afterwards; a waiting rank sleeps on its own bell and burns no CPU, also when the other never comes.
#pragma once
#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace softnccl {

constexpr size_t kStageBytes = size_t{1} << 20;   // per rank and parity
constexpr size_t kSlotBytes = size_t{128} << 10;  // of a point-to-point ring
constexpr uint64_t kSlots = 4;

// What is inside ncclUniqueId.
struct RegionId {
  char magic[8];
  uint64_t hash;  // also the communicator's id
  int32_t pid;    // the process that holds the file
  int32_t fd;
};
static_assert(sizeof(RegionId) <= NCCL_UNIQUE_ID_BYTES);

struct alignas(64) RankControl {
  std::atomic<uint32_t> bell;
  std::atomic<uint32_t> sleepers;
  std::atomic<uint32_t> joined;
  alignas(64) std::atomic<uint32_t> step;  // rounds of collectives that this rank has written
  // ncclCommSplit: what this rank wants, and as leader of a new communicator, its id. Phases count the exchanges.
  alignas(64) std::atomic<uint32_t> split_phase;
  int32_t split_color;
  int32_t split_key;
  RegionId split_id;
};

// One direction between two ranks.
struct alignas(64) Ring {
  std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) uint32_t length[kSlots];
};

struct RegionHeader {
  std::atomic<uint64_t> hash;
  std::atomic<int32_t> ranks;  // set by the first that joins
  std::atomic<int32_t> joined;
};

// One rank's mapping.
class Region {
 public:
  // Makes the file; the id stays usable as long as this process lives, or until closeId.
  static ncclResult_t makeId(RegionId* id);
  static void closeId(const RegionId& id);

  // Joins without waiting for the others. ncclInvalidArgument: the number of ranks differs from the others'.
  // ncclInvalidUsage: the rank is taken. ncclSystemError: the file cannot be reached (*why says how).
  static ncclResult_t join(const RegionId& id, int ranks, int rank, Region** region, const char** why);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  int rank() const { return m_rank; }
  int ranks() const { return m_ranks; }
  RegionHeader& header() { return *static_cast<RegionHeader*>(m_memory); }
  RankControl& control(int rank);
  Ring& ring(int from, int to);
  std::byte* slot(int from, int to, uint64_t index);
  std::byte* stage(int rank, unsigned parity);

  void ringBell(int rank);
  void ringOthers();
  // Sleeps until done() holds or this rank is aborted; false when aborted.
  template <typename Done>
  bool wait(Done done) {
    RankControl& own = control(m_rank);
    while (true) {
      const uint32_t seen = own.bell.load(std::memory_order_seq_cst);
      if (m_aborted.load(std::memory_order_acquire)) {
        return false;
      }
      if (done()) {
        return true;
      }
      sleep(own, seen);
    }
  }

  // Frees this rank's waits, now and later. The other ranks are not told, as with NCCL.
  void abort();
  bool aborted() const { return m_aborted.load(std::memory_order_acquire); }

 private:
  Region(void* memory, size_t bytes, int ranks, int rank);
  static void sleep(RankControl& own, uint32_t seen);

  void* m_memory;
  size_t m_bytes;
  int m_ranks;
  int m_rank;
  std::atomic<bool> m_aborted{false};
};

}  // namespace softnccl
