// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/nccl/region.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace softnccl {
namespace {

constexpr char kMagic[8] = {'s', 'o', 'f', 't', 'n', 'c', 'c', 'l'};
constexpr size_t kPage = 4096;

size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Header, controls, rings, slots of the rings, stages. Memory that nobody touches costs nothing.
size_t controlsAt() { return kPage; }
size_t ringsAt(size_t n) { return controlsAt() + pages(n * sizeof(RankControl)); }
size_t slotsAt(size_t n) { return ringsAt(n) + pages(n * n * sizeof(Ring)); }
size_t stagesAt(size_t n) { return slotsAt(n) + n * n * kSlots * kSlotBytes; }
size_t bytesFor(size_t n) { return stagesAt(n) + n * 2 * kStageBytes; }

long futex(std::atomic<uint32_t>* word, int operation, uint32_t value) {
  static_assert(sizeof(*word) == sizeof(uint32_t));
  return syscall(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

ncclResult_t Region::makeId(RegionId* id) {
  RegionId made{};
  std::memcpy(made.magic, kMagic, sizeof kMagic);
  if (getrandom(&made.hash, sizeof made.hash, 0) != sizeof made.hash) {
    return ncclSystemError;
  }
  const int fd = memfd_create("softnccl", MFD_CLOEXEC);
  if (fd < 0) {
    return ncclSystemError;
  }
  if (pwrite(fd, &made.hash, sizeof made.hash, 0) != sizeof made.hash) {
    close(fd);
    return ncclSystemError;
  }
  made.pid = getpid();
  made.fd = fd;
  *id = made;
  return ncclSuccess;
}

void Region::closeId(const RegionId& id) {
  if (id.pid == getpid()) {
    close(id.fd);
  }
}

ncclResult_t Region::join(const RegionId& id, int ranks, int rank, Region** region, const char** why) {
  if (std::memcmp(id.magic, kMagic, sizeof kMagic) != 0) {
    *why = "the unique id was not made by ncclGetUniqueId";
    return ncclInvalidArgument;
  }
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", id.pid, id.fd);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    *why =
        "the process that called ncclGetUniqueId cannot be reached: it must live on this machine, under the same user, "
        "until all ranks have joined";
    return ncclSystemError;
  }
  struct {
    uint64_t hash;
    int32_t ranks;
  } start{};  // of RegionHeader
  const size_t bytes = bytesFor(static_cast<size_t>(ranks));
  const bool ours =
      pread(fd, &start, sizeof start, 0) >= static_cast<ssize_t>(sizeof start.hash) && start.hash == id.hash;
  if (ours && start.ranks != 0 && start.ranks != ranks) {
    close(fd);
    *why = "the ranks do not agree on their number";
    return ncclInvalidArgument;
  }
  // All ranks ask for the same size: the file never shrinks under another's mapping.
  void* memory = MAP_FAILED;
  if (ours && ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) {
    *why =
        ours ? "shared memory for the communicator cannot be mapped" : "the unique id is stale: its process has gone";
    return ncclSystemError;
  }
  auto* const joined = new Region(memory, bytes, ranks, rank);
  int32_t expected = 0;
  if (!joined->header().ranks.compare_exchange_strong(expected, ranks) && expected != ranks) {
    *why = "the ranks do not agree on their number";
    delete joined;
    return ncclInvalidArgument;
  }
  if (joined->control(rank).joined.exchange(1) != 0) {
    *why = "this rank has already joined";
    delete joined;
    return ncclInvalidUsage;
  }
  joined->header().joined.fetch_add(1);
  joined->ringOthers();
  *region = joined;
  return ncclSuccess;
}

Region::Region(void* memory, size_t bytes, int ranks, int rank)
    : m_memory(memory), m_bytes(bytes), m_ranks(ranks), m_rank(rank) {}

Region::~Region() { munmap(m_memory, m_bytes); }

RankControl& Region::control(int rank) {
  return reinterpret_cast<RankControl*>(static_cast<std::byte*>(m_memory) + controlsAt())[rank];
}

Ring& Region::ring(int from, int to) {
  return reinterpret_cast<Ring*>(static_cast<std::byte*>(m_memory) +
                                 ringsAt(static_cast<size_t>(m_ranks)))[from * m_ranks + to];
}

std::byte* Region::slot(int from, int to, uint64_t index) {
  const auto pair = static_cast<size_t>(from * m_ranks + to);
  return static_cast<std::byte*>(m_memory) + slotsAt(static_cast<size_t>(m_ranks)) +
         (pair * kSlots + index % kSlots) * kSlotBytes;
}

std::byte* Region::stage(int rank, unsigned parity) {
  return static_cast<std::byte*>(m_memory) + stagesAt(static_cast<size_t>(m_ranks)) +
         (static_cast<size_t>(rank) * 2 + parity) * kStageBytes;
}

void Region::ringBell(int rank) {
  RankControl& other = control(rank);
  other.bell.fetch_add(1, std::memory_order_seq_cst);
  if (other.sleepers.load(std::memory_order_seq_cst) != 0) {
    futex(&other.bell, FUTEX_WAKE, INT_MAX);
  }
}

void Region::ringOthers() {
  for (int rank = 0; rank < m_ranks; ++rank) {
    if (rank != m_rank) {
      ringBell(rank);
    }
  }
}

void Region::sleep(RankControl& own, uint32_t seen) {
  own.sleepers.fetch_add(1, std::memory_order_seq_cst);
  futex(&own.bell, FUTEX_WAIT, seen);  // returns at once if the bell has rung since
  own.sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void Region::abort() {
  m_aborted.store(true, std::memory_order_release);
  ringBell(m_rank);
}

}  // namespace softnccl
