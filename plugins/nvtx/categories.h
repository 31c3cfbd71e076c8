// SPDX-License-Identifier: Apache-2.0
// Category names, by (domain, number). Naming is rare; looking up is not: a fixed table of atomics, no lock.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/api/records.h"

namespace plumb::nvtx {

class Categories {
 public:
  // The last name given wins. Names beyond the capacity are not kept.
  void name(StringId domain, uint32_t category, StringId text) noexcept;

  // 0 if the category has no name.
  [[nodiscard]] StringId find(StringId domain, uint32_t category) const noexcept;

 private:
  static constexpr size_t kCapacity = 4096;
  struct Slot {
    std::atomic<uint64_t> key{0};
    std::atomic<StringId> text{0};
  };
  Slot m_slots[kCapacity];
};

}  // namespace plumb::nvtx
