// SPDX-License-Identifier: Apache-2.0
// What the parts of the Nsight Systems importer share, and the parts themselves. Each reads some tables of the export.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analyzer/import/nsys_names.h"
#include "analyzer/import/nsys_registry.h"
#include "analyzer/import/nsys_source.h"
#include "analyzer/import/trace_file.h"
#include "analyzer/trace/pair_hash.h"

namespace plumb::import {

// Why an event of the export is not stored, or not stored as it was.
enum class NsysReason : uint8_t {
  NoTime,
  BadDuration,
  ProfilerNotice,
  GraphCovered,
  FreeWithoutAllocation,
  NotUnderstood,
  BadGpuTime,
  AllocationReplaced,
  BadPayload,
  NeverEnded,
  MissingText,
  BadSize,
  Count
};

class NsysTally {
 public:
  void count(NsysReason reason, uint64_t count = 1) { m_counts[static_cast<size_t>(reason)] += count; }
  [[nodiscard]] uint64_t of(NsysReason reason) const { return m_counts[static_cast<size_t>(reason)]; }
  [[nodiscard]] uint64_t notStored() const;
  void write(TraceFile& file, std::optional<int64_t> process, const std::string& source) const;

 private:
  std::array<uint64_t, static_cast<size_t>(NsysReason::Count)> m_counts{};
};

struct NsysTimes {
  int64_t start = 0, duration = 0;
  bool isUsable = true;  // false: the duration is not known
};

struct PairHash {
  size_t operator()(const std::pair<int64_t, int64_t>& pair) const noexcept {
    return pairHash(pair.first, pair.second);
  }
};

struct NsysContext {
  NsysSource& source;
  TraceFile& file;
  NsysNames& names;
  NsysRegistry& registry;
  NsysTally& tally;
  uint64_t events = 0;                    // rows of tables of events
  std::function<void(uint64_t)> advance;  // by rows

  // (process, correlation) of work that was launched by a graph and recorded singly.
  std::unordered_set<std::pair<int64_t, int64_t>, PairHash> graphWork;

  // Reads an event table: counts and shows progress.
  void forEachEvent(std::string_view table, const std::vector<const char*>& columns,
                    const std::function<void(const NsysRow&)>& take, const char* order = nullptr);
  // No value: it has no start that can be used, which is counted.
  [[nodiscard]] std::optional<NsysTimes> times(std::optional<int64_t> start, std::optional<int64_t> end);
  // 0 for one that cannot be, which is counted, and for null.
  [[nodiscard]] int64_t size(const NsysRow& row, int column);
};

// Kernels, copies, sets, whole graphs, waits, events: nsys_gpu.cpp.
void importGpuWork(NsysContext& context);
void importSynchronization(NsysContext& context);
// Allocations and what is known of memory pools: nsys_memory.cpp.
void importMemory(NsysContext& context);
// CUDA calls, calls of the operating system's library, and every other table of host intervals: nsys_host.cpp.
void importHost(NsysContext& context);
// GPU metrics and the like: nsys_counters.cpp.
void importCounters(NsysContext& context);
// The messages of Nsight Systems itself: nsys_counters.cpp.
void importMessages(NsysContext& context);

}  // namespace plumb::import
