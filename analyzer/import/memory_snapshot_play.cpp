// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/memory_snapshot_play.h"

#include <algorithm>
#include <utility>

namespace plumb::import {

void SnapshotPlay::allocate(const Lifetime& block) {
  const auto [entry, isNew] = m_live.try_emplace(block.address, m_blocks.size());
  if (!isNew) {
    m_blocks[entry->second].endNs = block.startNs;
    entry->second = m_blocks.size();
    ++m_counts.overwritten;
  }
  m_requested.erase(block.address);
  m_blocks.push_back(block);
}

void SnapshotPlay::requestFree(uint64_t address, int64_t bytes, int64_t stream, int64_t timeNs) {
  m_requested.insert_or_assign(address, timeNs);
  const auto live = m_live.find(address);
  if (live != m_live.end()) {
    m_blocks[live->second].endNs = timeNs;
    m_live.erase(live);
    return;
  }
  ++m_counts.freedUnseen;
  m_blocks.push_back({address, bytes, stream, m_startNs, timeNs, std::nullopt, std::nullopt});
}

void SnapshotPlay::completeFree(uint64_t address, int64_t timeNs) {
  ++m_counts.completions;
  m_requested.erase(address);
  const auto live = m_live.find(address);
  if (live == m_live.end()) return;
  m_blocks[live->second].endNs = timeNs;  // the request is not in the history
  m_live.erase(live);
}

void SnapshotPlay::addPiece(uint64_t start, uint64_t end, int64_t stream, int64_t startNs,
                            std::optional<int64_t> stack) {
  m_pieces.insert_or_assign(start, Piece{end, m_reserved.size()});
  m_reserved.push_back({start, static_cast<int64_t>(end - start), stream, startNs, std::nullopt, std::nullopt, stack});
}

std::vector<std::pair<uint64_t, uint64_t>> SnapshotPlay::cut(uint64_t start, uint64_t end, int64_t timeNs) {
  std::vector<std::pair<uint64_t, uint64_t>> bare;
  auto piece = m_pieces.upper_bound(start);
  if (piece != m_pieces.begin() && std::prev(piece)->second.end > start) --piece;
  uint64_t at = start;
  while (piece != m_pieces.end() && piece->first < end) {
    const uint64_t from = piece->first;
    const Piece old = piece->second;
    piece = m_pieces.erase(piece);
    const Lifetime whole = m_reserved[old.index];
    m_reserved[old.index].endNs = timeNs;
    if (from < start) addPiece(from, start, whole.stream, timeNs, whole.stack);
    if (old.end > end) addPiece(end, old.end, whole.stream, timeNs, whole.stack);
    if (from > at) bare.emplace_back(at, from);
    at = std::max(at, std::min(old.end, end));
  }
  if (at < end) bare.emplace_back(at, end);
  return bare;
}

void SnapshotPlay::reserve(const Lifetime& piece) {
  const uint64_t end = piece.address + static_cast<uint64_t>(piece.bytes);
  const auto bare = cut(piece.address, end, piece.startNs);
  const bool wasLive = bare.size() != 1 || bare.front() != std::pair(piece.address, end);
  if (wasLive) ++m_counts.overwritten;
  addPiece(piece.address, end, piece.stream, piece.startNs, piece.stack);
}

void SnapshotPlay::release(uint64_t address, int64_t bytes, int64_t stream, int64_t timeNs) {
  for (const auto& [from, to] : cut(address, address + static_cast<uint64_t>(bytes), timeNs)) {
    ++m_counts.freedUnseen;
    m_reserved.push_back(
        {from, static_cast<int64_t>(to - from), stream, m_startNs, timeNs, std::nullopt, std::nullopt});
  }
}

void SnapshotPlay::segmentAtEnd(uint64_t address, int64_t bytes, int64_t stream) {
  // What of it no event reserved was there before the first event.
  const uint64_t end = address + static_cast<uint64_t>(bytes);
  auto piece = m_pieces.upper_bound(address);
  if (piece != m_pieces.begin() && std::prev(piece)->second.end > address) --piece;
  uint64_t at = address;
  std::vector<std::pair<uint64_t, uint64_t>> bare;
  for (; piece != m_pieces.end() && piece->first < end; ++piece) {
    if (piece->first > at) bare.emplace_back(at, piece->first);
    at = std::max(at, piece->second.end);
  }
  if (at < end) bare.emplace_back(at, end);
  for (const auto& [from, to] : bare) addPiece(from, to, stream, m_startNs, std::nullopt);
}

void SnapshotPlay::blockAtEnd(const Lifetime& block) {
  m_seenAtEnd.emplace(block.address, true);
  const auto live = m_live.find(block.address);
  if (live == m_live.end()) {
    Lifetime& added = m_blocks.emplace_back(block);
    added.startNs = m_startNs;
    m_live.emplace(block.address, m_blocks.size() - 1);
    return;
  }
  Lifetime& known = m_blocks[live->second];
  known.requestedBytes = block.requestedBytes;
  if (!known.stack) known.stack = block.stack;
}

void SnapshotPlay::pendingAtEnd(const Lifetime& block) {
  m_seenAtEnd.emplace(block.address, true);
  Lifetime& added = m_pending.emplace_back(block);
  const auto since = m_requested.find(block.address);
  added.startNs = since == m_requested.end() ? m_startNs : since->second;
  const auto live = m_live.find(block.address);
  if (live == m_live.end()) return;
  m_blocks[live->second].endNs = added.startNs;
  m_live.erase(live);
}

void SnapshotPlay::finish(bool isComplete) {
  if (!isComplete) return;
  for (const auto& [address, index] : m_live) m_counts.notInSegments += m_seenAtEnd.count(address) == 0 ? 1 : 0;
}

}  // namespace plumb::import
