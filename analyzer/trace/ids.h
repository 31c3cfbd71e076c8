// SPDX-License-Identifier: Apache-2.0
// Keys of the trace's tables; a key of one table is not a key of another.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace plumb {

template <class Table>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(int64_t value) : m_value(value) {}
  [[nodiscard]] constexpr int64_t value() const { return m_value; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  int64_t m_value = 0;
};

using StringId = Id<struct StringTable>;
using ProcessId = Id<struct ProcessTable>;
using ThreadId = Id<struct ThreadTable>;
using DeviceId = Id<struct DeviceTable>;
using StreamId = Id<struct StreamTable>;
using KernelId = Id<struct KernelTable>;
using RangeId = Id<struct RangeTable>;
using CollectiveId = Id<struct CollectiveTable>;
using AllocationId = Id<struct AllocationTable>;
using RegionId = Id<struct RegionTable>;

// CUPTI's correlation id: unique within one process only.
using Correlation = Id<struct CorrelationSpace>;

}  // namespace plumb

template <class Table>
struct std::hash<plumb::Id<Table>> {
  std::size_t operator()(plumb::Id<Table> id) const noexcept { return std::hash<int64_t>{}(id.value()); }
};
