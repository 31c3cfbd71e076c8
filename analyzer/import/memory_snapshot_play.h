// SPDX-License-Identifier: Apache-2.0
// The history of one device in a memory snapshot: from the allocator's events and the state at the end to the lifetime
// of every allocation and every piece of reserved memory. The events are those of a ring buffer, so what was there
// before the first of them is found at the end, or when it is freed.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plumb::import {

struct Lifetime {
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
  int64_t startNs = 0;
  std::optional<int64_t> endNs;
  std::optional<int64_t> requestedBytes;
  std::optional<int64_t> stack;
};

struct PlayCounts {
  uint64_t freedUnseen = 0;    // ends of allocations whose beginning is not in the history; they are in `blocks`
  uint64_t overwritten = 0;    // an address was handed out twice without an end between
  uint64_t notInSegments = 0;  // live by the events, and not in the state at the end
  uint64_t completions = 0;    // events that say that a free is complete
};

class SnapshotPlay {
 public:
  // Times in order; startNs: of the first event.
  explicit SnapshotPlay(int64_t startNs) : m_startNs(startNs) {}

  void allocate(const Lifetime& block);
  void requestFree(uint64_t address, int64_t bytes, int64_t stream, int64_t timeNs);
  void completeFree(uint64_t address, int64_t timeNs);
  void reserve(const Lifetime& piece);
  void release(uint64_t address, int64_t bytes, int64_t stream, int64_t timeNs);

  // The state at the end. Then finish().
  void segmentAtEnd(uint64_t address, int64_t bytes, int64_t stream);
  void blockAtEnd(const Lifetime& block);
  void pendingAtEnd(const Lifetime& block);
  // Whether the state at the end is known completely: then what is not in it is noticed.
  void finish(bool isComplete);

  [[nodiscard]] const std::vector<Lifetime>& blocks() const { return m_blocks; }
  [[nodiscard]] const std::vector<Lifetime>& reserved() const { return m_reserved; }
  [[nodiscard]] const std::vector<Lifetime>& pending() const { return m_pending; }
  [[nodiscard]] const PlayCounts& counts() const { return m_counts; }

 private:
  struct Piece {
    uint64_t end;
    size_t index;  // in m_reserved
  };
  // Takes [start, end) out of the live pieces; those that stick out go on as new ones. Returns what was not live.
  std::vector<std::pair<uint64_t, uint64_t>> cut(uint64_t start, uint64_t end, int64_t timeNs);
  void addPiece(uint64_t start, uint64_t end, int64_t stream, int64_t startNs, std::optional<int64_t> stack);

  int64_t m_startNs;
  std::vector<Lifetime> m_blocks, m_reserved, m_pending;
  std::unordered_map<uint64_t, size_t> m_live;        // address to index in m_blocks
  std::unordered_map<uint64_t, int64_t> m_requested;  // given back, not complete: since when
  std::unordered_map<uint64_t, bool> m_seenAtEnd;
  std::map<uint64_t, Piece> m_pieces;  // live reserved memory by start
  PlayCounts m_counts;
};

}  // namespace plumb::import
