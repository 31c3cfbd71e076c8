// SPDX-License-Identifier: Apache-2.0
// A round of a collective: write into the own stage, show it (step + 1), wait until every rank has shown the same step,
// read the others' stages. There are two stages, used in turn: when a rank writes step s + 1, all others have shown
// step s, so none reads step s - 1 any more.
#include "workloads/softcuda/nccl/transfer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace softnccl {
namespace {

// Below this an all-reduce sends everything to everybody: one round instead of two.
constexpr size_t kSmallAllReduce = size_t{32} << 10;

const std::byte* bytesOf(const void* pointer) { return static_cast<const std::byte*>(pointer); }
std::byte* bytesOf(void* pointer) { return static_cast<std::byte*>(pointer); }

void copyBytes(void* to, const void* from, size_t bytes) {
  if (bytes != 0 && to != from) {
    std::memmove(to, from, bytes);
  }
}

// This rank's input, multiplied by its scalar where the operation says so.
class Input {
 public:
  Input(const Operation& operation, ncclDataType_t type, const void* from, size_t count) : m_data(bytesOf(from)) {
    if (operation.scaled) {
      m_scaled.resize(count * sizeOf(type));
      scale(operation.scalar, type, from, m_scaled.data(), count);
      m_data = m_scaled.data();
    }
  }
  const std::byte* data() const { return m_data; }

 private:
  std::vector<std::byte> m_scaled;
  const std::byte* m_data;
};

}  // namespace

bool Transfer::round() {
  Region& region = m_region;
  const uint32_t step = ++m_step;
  region.control(region.rank()).step.store(step, std::memory_order_release);
  region.ringOthers();
  int next = 0;
  return region.wait([&] {
    for (; next < region.ranks(); ++next) {
      const uint32_t other = region.control(next).step.load(std::memory_order_acquire);
      if (static_cast<int32_t>(other - step) < 0) {
        return false;
      }
    }
    return true;
  });
}

bool Transfer::broadcast(const void* from, void* to, size_t bytes, int root) {
  const bool is_root = m_region.rank() == root;
  for (size_t first = 0; first < bytes; first += kStageBytes) {
    const size_t part = std::min(kStageBytes, bytes - first);
    std::byte* const stage = m_region.stage(root, nextParity());
    if (is_root) {
      copyBytes(stage, bytesOf(from) + first, part);
    }
    if (!round()) {
      return false;
    }
    copyBytes(bytesOf(to) + first, is_root ? bytesOf(from) + first : stage, part);
  }
  return true;
}

bool Transfer::allGather(const void* from, void* to, size_t bytes) {
  const int own = m_region.rank();
  const auto segment = [&](int rank) { return bytesOf(to) + static_cast<size_t>(rank) * bytes; };
  for (size_t first = 0; first < bytes; first += kStageBytes) {
    const size_t part = std::min(kStageBytes, bytes - first);
    const unsigned parity = nextParity();
    copyBytes(m_region.stage(own, parity), bytesOf(from) + first, part);
    copyBytes(segment(own) + first, bytesOf(from) + first, part);
    if (!round()) {
      return false;
    }
    for (int i = 1; i < m_region.ranks(); ++i) {
      const int other = (own + i) % m_region.ranks();
      copyBytes(segment(other) + first, m_region.stage(other, parity), part);
    }
  }
  return true;
}

bool Transfer::reduce(const Operation& operation, ncclDataType_t type, const void* from, void* to, size_t count,
                      int root) {
  const Input input(operation, type, from, count);
  const size_t size = sizeOf(type), chunk = kStageBytes / size;
  const int own = m_region.rank();
  for (size_t first = 0; first < count; first += chunk) {
    const size_t part = std::min(chunk, count - first);
    const unsigned parity = nextParity();
    if (own != root) {
      copyBytes(m_region.stage(own, parity), input.data() + first * size, part * size);
    }
    if (!round()) {
      return false;
    }
    if (own == root) {
      std::vector<const void*> sources;
      for (int rank = 0; rank < m_region.ranks(); ++rank) {
        sources.push_back(rank == own ? input.data() + first * size : m_region.stage(rank, parity));
      }
      softnccl::reduce(operation, type, sources, bytesOf(to) + first * size, part, m_region.ranks());
    }
  }
  return true;
}

bool Transfer::reduceScatter(const Operation& operation, ncclDataType_t type, const void* from, void* to,
                             size_t count) {
  const int own = m_region.rank(), ranks = m_region.ranks();
  const Input input(operation, type, from, count * static_cast<size_t>(ranks));
  const size_t size = sizeOf(type);
  const size_t slot = kStageBytes / static_cast<size_t>(ranks) / 64 * 64;  // one per destination
  const size_t chunk = slot / size;
  const auto segment = [&](int rank, size_t first) {
    return input.data() + (static_cast<size_t>(rank) * count + first) * size;
  };
  for (size_t first = 0; first < count; first += chunk) {
    const size_t part = std::min(chunk, count - first);
    const unsigned parity = nextParity();
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank != own) {
        copyBytes(m_region.stage(own, parity) + static_cast<size_t>(rank) * slot, segment(rank, first), part * size);
      }
    }
    if (!round()) {
      return false;
    }
    std::vector<const void*> sources;
    for (int rank = 0; rank < ranks; ++rank) {
      sources.push_back(rank == own ? segment(own, first)
                                    : m_region.stage(rank, parity) + static_cast<size_t>(own) * slot);
    }
    softnccl::reduce(operation, type, sources, bytesOf(to) + first * size, part, ranks);
  }
  return true;
}

bool Transfer::allReduceAtOnce(const Operation& operation, ncclDataType_t type, const void* from, void* to,
                               size_t count) {
  const Input input(operation, type, from, count);
  const int own = m_region.rank();
  const unsigned parity = nextParity();
  copyBytes(m_region.stage(own, parity), input.data(), count * sizeOf(type));
  if (!round()) {
    return false;
  }
  std::vector<const void*> sources;
  for (int rank = 0; rank < m_region.ranks(); ++rank) {
    sources.push_back(m_region.stage(rank, parity));
  }
  softnccl::reduce(operation, type, sources, to, count, m_region.ranks());
  return true;
}

bool Transfer::allReduce(const Operation& operation, ncclDataType_t type, const void* from, void* to, size_t count) {
  const size_t size = sizeOf(type);
  if (count * size <= kSmallAllReduce) {
    return allReduceAtOnce(operation, type, from, to, count);
  }
  const Input input(operation, type, from, count);
  const int own = m_region.rank(), ranks = m_region.ranks();
  const auto n = static_cast<size_t>(ranks);
  const size_t slot = kStageBytes / n / 64 * 64;
  const size_t block = slot / size * n;
  for (size_t first = 0; first < count; first += block) {
    const size_t part = std::min(block, count - first);
    const size_t piece = (part + n - 1) / n;
    const auto begin = [&](int rank) { return std::min(part, static_cast<size_t>(rank) * piece); };
    const auto length = [&](int rank) { return std::min(part, (static_cast<size_t>(rank) + 1) * piece) - begin(rank); };
    const auto position = [&](int rank) { return (first + begin(rank)) * size; };
    // Reduce-scatter: every rank reduces one piece of the block …
    unsigned parity = nextParity();
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank != own) {
        copyBytes(m_region.stage(own, parity) + static_cast<size_t>(rank) * slot, input.data() + position(rank),
                  length(rank) * size);
      }
    }
    if (!round()) {
      return false;
    }
    std::vector<const void*> sources;
    for (int rank = 0; rank < ranks; ++rank) {
      sources.push_back(rank == own ? input.data() + position(own)
                                    : m_region.stage(rank, parity) + static_cast<size_t>(own) * slot);
    }
    softnccl::reduce(operation, type, sources, bytesOf(to) + position(own), length(own), ranks);
    // … all-gather: and shows it to the others.
    parity = nextParity();
    copyBytes(m_region.stage(own, parity), bytesOf(to) + position(own), length(own) * size);
    if (!round()) {
      return false;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank != own) {
        copyBytes(bytesOf(to) + position(rank), m_region.stage(rank, parity), length(rank) * size);
      }
    }
  }
  return true;
}

// Moves one slot's worth if the ring allows it.
bool Transfer::progress(Message& message) {
  const int own = m_region.rank();
  const int from = message.send ? own : message.peer, to = message.send ? message.peer : own;
  Ring& ring = m_region.ring(from, to);
  const uint64_t written = ring.written.load(std::memory_order_acquire);
  const uint64_t read = ring.read.load(std::memory_order_acquire);
  if (message.send) {
    if (written - read == kSlots) {
      return false;
    }
    const size_t part = std::min(kSlotBytes, message.bytes);
    copyBytes(m_region.slot(from, to, written), message.data, part);
    ring.length[written % kSlots] = static_cast<uint32_t>(part);
    ring.written.store(written + 1, std::memory_order_release);
    message.data += part;
    message.bytes -= part;
  } else {
    if (written == read) {
      return false;
    }
    const size_t part = ring.length[read % kSlots];
    if (part > message.bytes) {
      std::fprintf(stderr,
                   "softcuda: ncclRecv: rank %d received %zu bytes more from rank %d than it expects; the rest of the "
                   "message is dropped\n",
                   own, part - message.bytes, message.peer);
    }
    const size_t kept = std::min(part, message.bytes);
    copyBytes(message.data, m_region.slot(from, to, read), kept);
    ring.read.store(read + 1, std::memory_order_release);
    message.data += kept;
    message.bytes -= kept;
  }
  m_region.ringBell(message.peer);
  return true;
}

bool Transfer::exchange(std::vector<Message> messages) {
  messages.erase(std::remove_if(messages.begin(), messages.end(), [](const Message& m) { return m.bytes == 0; }),
                 messages.end());
  while (!messages.empty()) {
    const bool alive = m_region.wait([&] {
      bool moved = false;
      std::vector<bool> busy(static_cast<size_t>(m_region.ranks()) * 2);
      for (Message& message : messages) {
        // With one peer and direction only the oldest message may move.
        const size_t lane = static_cast<size_t>(message.peer) * 2 + (message.send ? 1 : 0);
        if (!busy[lane]) {
          busy[lane] = true;
          moved |= progress(message);
        }
      }
      return moved;
    });
    if (!alive) {
      return false;
    }
    messages.erase(std::remove_if(messages.begin(), messages.end(), [](const Message& m) { return m.bytes == 0; }),
                   messages.end());
  }
  return true;
}

}  // namespace softnccl
