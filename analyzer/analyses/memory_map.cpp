// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/memory_map.h"

#include <algorithm>
#include <utility>

namespace plumb {

MemoryMap::Blocks::iterator MemoryMap::firstBlockEndingAfter(uint64_t address) {
  auto block = m_blocks.upper_bound(address);
  if (block != m_blocks.begin() && std::prev(block)->second.end > address) --block;
  return block;
}

std::map<uint64_t, MemoryMap::Piece>::iterator MemoryMap::firstPieceEndingAfter(uint64_t address) {
  auto piece = m_pieces.upper_bound(address);
  if (piece != m_pieces.begin() && std::prev(piece)->second.end > address) --piece;
  return piece;
}

const MemoryMap::Totals* MemoryMap::totals(std::optional<DeviceId> device) const {
  const auto found = m_totals.find(device);
  return found == m_totals.end() ? nullptr : &found->second;
}

void MemoryMap::allocate(size_t block, uint64_t address, int64_t bytes, std::optional<DeviceId> device) {
  const uint64_t end = address + static_cast<uint64_t>(bytes);
  for (auto other = firstBlockEndingAfter(address); other != m_blocks.end() && other->first < end;) {
    const auto next = std::next(other);
    removeBlock(other);
    other = next;
  }
  m_blocks.emplace(address, Block{block, end, device});
  m_blockStarts[block] = address;
  m_totals[device].allocatedBytes += bytes;
}

void MemoryMap::free(size_t block) {
  const auto start = m_blockStarts.find(block);
  if (start != m_blockStarts.end()) removeBlock(m_blocks.find(start->second));
}

void MemoryMap::removeBlock(Blocks::iterator block) {
  const uint64_t start = block->first, end = block->second.end;
  Totals& totals = m_totals[block->second.device];
  totals.allocatedBytes -= static_cast<int64_t>(end - start);
  erase(start, end, totals, std::nullopt);
  // Covered regions that lie in it must not show again in what is allocated there next.
  for (auto region = m_covered.begin(); region != m_covered.end();) {
    const bool isInside = region->second.start >= start && region->second.end <= end;
    region = isInside ? m_covered.erase(region) : std::next(region);
  }
  m_blockStarts.erase(block->second.number);
  m_blocks.erase(block);
}

std::vector<MemoryMap::Range> MemoryMap::erase(uint64_t start, uint64_t end, Totals& totals,
                                               std::optional<size_t> ofRegion) {
  std::vector<Range> erased;
  for (auto piece = firstPieceEndingAfter(start); piece != m_pieces.end() && piece->first < end;) {
    const uint64_t pieceStart = piece->first;
    const Piece whole = piece->second;
    if (ofRegion && whole.region != *ofRegion) {
      ++piece;
      continue;
    }
    const uint64_t from = std::max(pieceStart, start), to = std::min(whole.end, end);
    piece = m_pieces.erase(piece);
    if (pieceStart < from) m_pieces.emplace(pieceStart, Piece{from, whole.region});
    if (to < whole.end) piece = m_pieces.emplace(to, Piece{whole.end, whole.region}).first;
    const auto region = m_regions.find(whole.region);
    if (region != m_regions.end()) {
      totals.declaredBytes[static_cast<size_t>(region->second.category)] -= static_cast<int64_t>(to - from);
    }
    erased.emplace_back(from, to);
  }
  return erased;
}

void MemoryMap::paint(uint64_t start, uint64_t end, size_t region, MemoryCategory category, Totals& totals) {
  m_pieces.emplace(start, Piece{end, region});
  totals.declaredBytes[static_cast<size_t>(category)] += static_cast<int64_t>(end - start);
}

bool MemoryMap::declare(size_t region, uint64_t address, int64_t bytes, MemoryCategory category) {
  const uint64_t end = address + static_cast<uint64_t>(bytes);
  auto block = firstBlockEndingAfter(address);
  if (block == m_blocks.end() || block->first >= end) return false;
  m_regions[region] = {address, end, category, false};
  for (; block != m_blocks.end() && block->first < end; ++block) {
    const uint64_t from = std::max(block->first, address), to = std::min(block->second.end, end);
    for (auto piece = firstPieceEndingAfter(from); piece != m_pieces.end() && piece->first < to; ++piece) {
      const auto below = m_regions.find(piece->second.region);
      if (below != m_regions.end() && !below->second.isCovered) {
        below->second.isCovered = true;
        m_covered.emplace(below->first, below->second);
      }
    }
    Totals& totals = m_totals[block->second.device];
    erase(from, to, totals, std::nullopt);
    paint(from, to, region, category, totals);
  }
  return true;
}

void MemoryMap::undeclare(size_t number) {
  const auto found = m_regions.find(number);
  if (found == m_regions.end()) return;
  const Region region = found->second;
  m_covered.erase(number);
  for (auto block = firstBlockEndingAfter(region.start); block != m_blocks.end() && block->first < region.end;
       ++block) {
    Totals& totals = m_totals[block->second.device];
    const uint64_t from = std::max(block->first, region.start), to = std::min(block->second.end, region.end);
    for (const auto& [start, end] : erase(from, to, totals, number)) {
      // In order of declaration, so that of several the latest stays on top.
      for (const auto& [below, covered] : m_covered) {
        const uint64_t shownFrom = std::max(start, covered.start), shownTo = std::min(end, covered.end);
        if (shownFrom >= shownTo) continue;
        erase(shownFrom, shownTo, totals, std::nullopt);
        paint(shownFrom, shownTo, below, covered.category, totals);
      }
    }
  }
  m_regions.erase(number);
}

}  // namespace plumb
