// SPDX-License-Identifier: Apache-2.0
// A process's device memory at one moment: live allocations and, painted over them, the declared regions. The region
// that was declared last counts for a byte; when it ends, the one below it shows again.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/memory.h"

namespace plumb {

class MemoryMap {
 public:
  struct Totals {
    int64_t allocatedBytes = 0;
    BytesByCategory declaredBytes{};
    BytesByCategory inferredBytes{};  // what no region covers, by the inferred category of its block
  };

  // Blocks and regions are known by the caller's numbers; a region's number grows with the time of its declaration.
  // A live block in the way was freed without a record: it ends here.
  void allocate(size_t block, uint64_t address, int64_t bytes, std::optional<DeviceId> device,
                MemoryCategory inferred = MemoryCategory::Unattributed);
  void free(size_t block);  // regions in it end with it; unknown numbers are ignored
  // False when no live block holds any of it; nothing is declared then.
  bool declare(size_t region, uint64_t address, int64_t bytes, MemoryCategory category);
  void undeclare(size_t region);

  // Null while nothing was ever allocated there.
  [[nodiscard]] const Totals* totals(std::optional<DeviceId> device) const;

  // Every byte of the device's live blocks once: (block, region or none, address, bytes), in order of address.
  template <class Take>
  void forEachPiece(std::optional<DeviceId> device, Take&& take) const;

 private:
  struct Block {
    size_t number;
    uint64_t end;
    std::optional<DeviceId> device;
    MemoryCategory inferred;
    std::vector<size_t> regions = {};  // declared in it, also those that ended
  };
  struct Place {  // what painting in one block changes
    Totals& totals;
    MemoryCategory inferred;
  };
  struct Piece {  // visible part of a region, inside one block
    uint64_t end;
    size_t region;
  };
  using Range = std::pair<uint64_t, uint64_t>;  // [first, second)
  struct Region {
    std::vector<Range> parts;  // one in each block that was live when it was declared and still is
    MemoryCategory category;
    bool isCovered = false;  // some of it lies, or lay, under a later region
  };
  using Blocks = std::map<uint64_t, Block>;

  [[nodiscard]] Blocks::iterator firstBlockEndingAfter(uint64_t address);
  std::map<uint64_t, Piece>::iterator firstPieceEndingAfter(uint64_t address);
  // Takes away what is visible in the range; `ofRegion`: only of that region. Returns the ranges.
  std::vector<Range> erase(uint64_t start, uint64_t end, Place place, std::optional<size_t> ofRegion);
  void paint(uint64_t start, uint64_t end, size_t region, MemoryCategory category, Place place);
  // Paints what lies under a range from which the visible was taken.
  void show(const Range& bare, Place place);
  Place placeOf(const Block& block) { return {m_totals[block.device], block.inferred}; }
  void removeBlock(Blocks::iterator block);

  Blocks m_blocks;                                     // by start address
  std::unordered_map<size_t, uint64_t> m_blockStarts;  // by number
  std::map<uint64_t, Piece> m_pieces;                  // by start address
  std::map<size_t, Region> m_regions;                  // live, by number
  std::set<size_t> m_covered;                          // those with isCovered
  std::map<std::optional<DeviceId>, Totals> m_totals;
};

template <class Take>
void MemoryMap::forEachPiece(std::optional<DeviceId> device, Take&& take) const {
  for (const auto& [start, block] : m_blocks) {
    if (block.device != device) continue;
    uint64_t at = start;
    for (auto piece = m_pieces.lower_bound(start); piece != m_pieces.end() && piece->first < block.end; ++piece) {
      if (at < piece->first) take(block.number, std::optional<size_t>(), at, static_cast<int64_t>(piece->first - at));
      take(block.number, std::optional<size_t>(piece->second.region), piece->first,
           static_cast<int64_t>(piece->second.end - piece->first));
      at = piece->second.end;
    }
    if (at < block.end) take(block.number, std::optional<size_t>(), at, static_cast<int64_t>(block.end - at));
  }
}

}  // namespace plumb
