// SPDX-License-Identifier: Apache-2.0
// Device memory that nobody named, told apart by the places in the program that allocated it. Pure.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analyses/memory.h"

namespace plumb::gui {

// What was live at the peak, by who allocated it. It is known from when each was allocated to the first decrease after
// the peak; what was freed before the peak, or is of another place, belongs to none of them.
class MemoryPlaces {
 public:
  struct Place {
    std::string name;
    int64_t bytes = 0;                                 // at the peak
    std::vector<std::pair<int64_t, int64_t>> bySince;  // ns; all bytes allocated until then
  };
  static constexpr size_t kMost = 8;

  // None: something is declared, or nothing says who allocated it.
  [[nodiscard]] static std::optional<MemoryPlaces> of(const DeviceMemory& memory);
  [[nodiscard]] const std::vector<Place>& places() const { return m_places; }  // largest first
  [[nodiscard]] int64_t bytesAt(size_t place, double ns) const;

 private:
  std::vector<Place> m_places;
  double m_untilNs = 0;
};

}  // namespace plumb::gui
