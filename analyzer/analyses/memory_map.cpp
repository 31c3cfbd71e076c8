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

void MemoryMap::allocate(size_t block, uint64_t address, int64_t bytes, std::optional<DeviceId> device,
                         MemoryCategory inferred) {
  const uint64_t end = address + static_cast<uint64_t>(bytes);
  for (auto other = firstBlockEndingAfter(address); other != m_blocks.end() && other->first < end;) {
    const auto next = std::next(other);
    removeBlock(other);
    other = next;
  }
  m_blocks.emplace(address, Block{block, end, device, inferred});
  m_blockStarts[block] = address;
  Totals& totals = m_totals[device];
  totals.allocatedBytes += bytes;
  totals.inferredBytes[static_cast<size_t>(inferred)] += bytes;
}

void MemoryMap::free(size_t block) {
  const auto start = m_blockStarts.find(block);
  if (start != m_blockStarts.end()) removeBlock(m_blocks.find(start->second));
}

void MemoryMap::removeBlock(Blocks::iterator block) {
  const uint64_t start = block->first, end = block->second.end;
  const Place place = placeOf(block->second);
  place.totals.allocatedBytes -= static_cast<int64_t>(end - start);
  erase(start, end, place, std::nullopt);
  place.totals.inferredBytes[static_cast<size_t>(place.inferred)] -= static_cast<int64_t>(end - start);
  for (const size_t number : block->second.regions) {
    const auto region = m_regions.find(number);
    if (region == m_regions.end()) continue;
    auto& parts = region->second.parts;
    parts.erase(std::remove_if(parts.begin(), parts.end(),
                               [&](const Range& part) { return part.first >= start && part.second <= end; }),
                parts.end());
    if (!parts.empty()) continue;
    m_covered.erase(number);
    m_regions.erase(region);
  }
  m_blockStarts.erase(block->second.number);
  m_blocks.erase(block);
}

std::vector<MemoryMap::Range> MemoryMap::erase(uint64_t start, uint64_t end, Place place,
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
      place.totals.declaredBytes[static_cast<size_t>(region->second.category)] -= static_cast<int64_t>(to - from);
      place.totals.inferredBytes[static_cast<size_t>(place.inferred)] += static_cast<int64_t>(to - from);
    }
    erased.emplace_back(from, to);
  }
  return erased;
}

void MemoryMap::paint(uint64_t start, uint64_t end, size_t region, MemoryCategory category, Place place) {
  m_pieces.emplace(start, Piece{end, region});
  place.totals.declaredBytes[static_cast<size_t>(category)] += static_cast<int64_t>(end - start);
  place.totals.inferredBytes[static_cast<size_t>(place.inferred)] -= static_cast<int64_t>(end - start);
}

bool MemoryMap::declare(size_t region, uint64_t address, int64_t bytes, MemoryCategory category) {
  const uint64_t end = address + static_cast<uint64_t>(bytes);
  auto block = firstBlockEndingAfter(address);
  if (block == m_blocks.end() || block->first >= end) return false;
  Region declared{{}, category};
  for (; block != m_blocks.end() && block->first < end; ++block) {
    const uint64_t from = std::max(block->first, address), to = std::min(block->second.end, end);
    for (auto piece = firstPieceEndingAfter(from); piece != m_pieces.end() && piece->first < to; ++piece) {
      const auto below = m_regions.find(piece->second.region);
      if (below == m_regions.end() || below->second.isCovered) continue;
      below->second.isCovered = true;
      m_covered.insert(below->first);
    }
    const Place place = placeOf(block->second);
    erase(from, to, place, std::nullopt);
    paint(from, to, region, category, place);
    declared.parts.emplace_back(from, to);
    block->second.regions.push_back(region);
  }
  m_regions[region] = std::move(declared);
  return true;
}

void MemoryMap::undeclare(size_t number) {
  const auto found = m_regions.find(number);
  if (found == m_regions.end()) return;
  m_covered.erase(number);
  for (const Range& part : found->second.parts) {
    const Place place = placeOf(firstBlockEndingAfter(part.first)->second);
    for (const Range& bare : erase(part.first, part.second, place, number)) show(bare, place);
  }
  m_regions.erase(found);
}

void MemoryMap::show(const Range& bare, Place place) {
  // In order of declaration, so that of several the latest stays on top.
  for (const size_t below : m_covered) {
    const Region& region = m_regions.at(below);
    for (const Range& part : region.parts) {
      const uint64_t from = std::max(bare.first, part.first), to = std::min(bare.second, part.second);
      if (from >= to) continue;
      erase(from, to, place, std::nullopt);
      paint(from, to, below, region.category, place);
    }
  }
}

}  // namespace plumb
