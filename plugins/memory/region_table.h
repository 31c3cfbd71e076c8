// SPDX-License-Identifier: Apache-2.0
// The live regions of NVTX's memory extension, by address. NVTX gives size and name in two calls; the table joins them.
//
// Fixed size, nothing is allocated. Sharded, each shard behind a spin flag that is held for a few dozen instructions; a
// thread that cannot get it within a bounded number of tries (its holder was descheduled, or died) gives up, and the
// region is counted as lost.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/api/records.h"

namespace plumb::memory {

struct Region {
  uint64_t address;
  uint64_t bytes;
  uint64_t heap;  // handle; 0: the process-wide heap
  StringId name;  // 0: not named, so not in the trace yet
};

class RegionTable {
 public:
  enum class Result { kDone, kUnknown, kLost };

  // Adds or replaces. before receives what was there (address 0: nothing).
  Result put(const Region& region, Region& before) noexcept;
  // Gives a known region a name. after receives it as it is now, before as it was.
  Result name(uint64_t address, StringId text, Region& before, Region& after) noexcept;
  Result resize(uint64_t address, uint64_t bytes, Region& after) noexcept;
  Result remove(uint64_t address, Region& before) noexcept;

  // Removes one region of the heap and returns true, or false if there is none (left). Slow: for the end of a heap.
  bool removeOneOf(uint64_t heap, Region& before) noexcept;

  // After fork, in the child: a flag may have been held by a thread that does not exist here.
  void releaseAll() noexcept;

 private:
  static constexpr size_t kShards = 256;
  static constexpr size_t kPerShard = 128;
  struct Shard {
    std::atomic_flag held = ATOMIC_FLAG_INIT;
    uint32_t count = 0;
    Region regions[kPerShard]{};
  };
  class Hold;
  static size_t shardOf(uint64_t address) noexcept;

  Shard m_shards[kShards];
};

}  // namespace plumb::memory
