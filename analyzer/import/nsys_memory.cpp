// SPDX-License-Identifier: Apache-2.0
// Allocations, and how full the pools were that they came from.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "analyzer/import/nsys_context.h"

namespace plumb::import {
namespace {

// ENUM_CUDA_MEM_KIND
const char* spaceOf(int64_t kind) {
  static constexpr std::array<const char*, 7> kSpaces = {"pageable", "pinned",        "device",        "array",
                                                         "managed",  "device_static", "managed_static"};
  return kind >= 0 && kind < static_cast<int64_t>(kSpaces.size()) ? kSpaces[static_cast<size_t>(kind)] : "unknown";
}

enum Column : int {
  kStart,
  kProcess,
  kDevice,
  kContext,
  kAddress,
  kBytes,
  kKind,
  kOperation,
  kName,
  kCorrelation,
  kStream,
  kPool,
  kPoolSize,
  kPoolUsed
};

class Memory {
 public:
  explicit Memory(NsysContext& context) : m_context(context) {}

  void take(const NsysRow& row) {
    const auto times = m_context.times(row.integer(kStart), row.integer(kStart));
    if (!times) return;
    const int64_t process = m_context.registry.process(row.integer(kProcess));
    m_context.registry.noteTime(process, times->start, times->start);
    samplePool(row, process, times->start);
    constexpr int64_t kAllocation = 0, kDeallocation = 1;
    switch (row.integerOr(kOperation, -1)) {
      case kAllocation:
        return allocate(row, process, times->start);
      case kDeallocation:
        return free(row, process, times->start);
      default:
        return m_context.tally.count(NsysReason::NotUnderstood);
    }
  }

 private:
  using Key = std::tuple<int64_t, bool, int64_t>;  // process, on the host, address

  [[nodiscard]] static Key keyOf(const NsysRow& row, int64_t process) {
    constexpr int64_t kPinned = 1;
    return {process, row.integerOr(kKind, 2) <= kPinned, row.integerOr(kAddress, 0)};
  }

  void allocate(const NsysRow& row, int64_t process, int64_t start) {
    const int64_t device = m_context.registry.device(process, row.integerOr(kDevice, 0));
    const bool fromPool = row.integerOr(kPool, 0) != 0;
    const int64_t id = m_context.file.rows().nextId<schema::AllocationRow>();
    const int64_t bytes = m_context.size(row, kBytes);
    m_context.file.rows().insert(schema::AllocationRow{
        .id = id,
        .process_id = process,
        .device_id = device,
        .stream_id = fromPool && row.integer(kStream)
                         ? std::optional(m_context.registry.stream(process, device, row.integerOr(kContext, 0),
                                                                   *row.integer(kStream)))
                         : std::nullopt,
        .start_ns = start,
        .address = row.integerOr(kAddress, 0),
        .bytes = bytes,
        .space = spaceOf(row.integerOr(kKind, -1)),
        .from_pool = fromPool ? 1 : 0,
        .correlation = row.integer(kCorrelation)});
    if (const std::string_view name = row.text(kName); !name.empty()) {  // a variable of the program
      m_context.file.rows().insert(
          schema::MemoryRegionRow{.id = m_context.file.rows().nextId<schema::MemoryRegionRow>(),
                                  .process_id = process,
                                  .start_ns = start,
                                  .address = row.integerOr(kAddress, 0),
                                  .bytes = bytes,
                                  .name_id = m_context.file.textId(name),
                                  .category = "unattributed"});
    }
    const auto [entry, isNew] = m_live.try_emplace(keyOf(row, process), id);
    if (isNew) return;
    m_context.tally.count(NsysReason::AllocationReplaced);
    end(entry->second, start, std::nullopt);
    entry->second = id;
  }

  void free(const NsysRow& row, int64_t process, int64_t start) {
    const auto live = m_live.find(keyOf(row, process));
    if (live == m_live.end()) return m_context.tally.count(NsysReason::FreeWithoutAllocation);
    end(live->second, start, row.integer(kCorrelation));
    m_live.erase(live);
  }

  void end(int64_t allocation, int64_t start, std::optional<int64_t> correlation) {
    m_context.file.rows().insert(
        schema::DeallocationRow{.allocation_id = allocation, .start_ns = start, .correlation = correlation});
  }

  void samplePool(const NsysRow& row, int64_t process, int64_t start) {
    if (row.integerOr(kPool, 0) == 0) return;
    const auto sample = [&](const char* what, std::optional<int64_t> value) {
      if (!value) return;
      const std::string name = fmt::format("memory pool {} bytes, device {}", what, row.integerOr(kDevice, 0));
      m_context.file.rows().insert(schema::CounterSampleRow{.process_id = process,
                                                            .start_ns = start,
                                                            .name_id = m_context.file.textId(name),
                                                            .value = static_cast<double>(*value)});
    };
    sample("reserved", row.integer(kPoolSize));
    sample("used", row.integer(kPoolUsed));
  }

  NsysContext& m_context;
  std::map<Key, int64_t> m_live;
};

}  // namespace

void importMemory(NsysContext& context) {
  Memory memory(context);
  context.forEachEvent(
      "CUDA_GPU_MEMORY_USAGE_EVENTS",
      {"start|timestamp", "globalPid", "deviceId", "contextId", "address", "bytes", "memKind", "memoryOperationType",
       "name", "correlationId", "streamId", "localMemoryPoolAddress", "localMemoryPoolSize",
       "localMemoryPoolUtilizedSize"},
      [&](const NsysRow& row) { memory.take(row); }, "start");
}

}  // namespace plumb::import
