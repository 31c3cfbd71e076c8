// SPDX-License-Identifier: Apache-2.0
// Pairs the begins and ends of one process's NVTX ranges and finds their depth and parent.
//
// Push/pop: one stack per thread over all domains, so that depth and parent are what the program's nesting was; a pop
// closes the range of its domain and level. Start/end: by id, across threads, whichever record is read first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/api/records.h"

namespace plumb::recorder {

// All times: session time.
struct CompletedRange {
  int64_t id = 0;
  int64_t parentId = 0;  // 0: none
  int64_t startNs = 0;
  std::optional<int64_t> endNs;  // none: still open when the recording ended, or its end was lost
  StringId domain = 0;
  StringId name = 0;
  StringId category = 0;
  uint64_t key = 0;  // start/end: the program's id; push/pop: the level
  RangeKind kind = RangeKind::kPushPop;
  uint32_t colorArgb = 0;
  uint32_t tid = 0;
  uint32_t endTid = 0;
  int32_t depth = 0;
};

class RangeAssembler {
 public:
  // id: of the row to be. A value: the range is complete already (a mark; an end that was read first; too many are
  // open).
  [[nodiscard]] std::optional<CompletedRange> begin(const RangeBeginRecord& record, int64_t timeNs, int64_t id);
  [[nodiscard]] std::optional<CompletedRange> end(const RangeEndRecord& record, int64_t timeNs);
  // To be called before begin() or end() of a push/pop record that names its level: the ranges that were popped before it
  // by records that were lost. Their end is not known.
  [[nodiscard]] std::vector<CompletedRange> abandonBefore(const RangeBeginRecord& record);
  [[nodiscard]] std::vector<CompletedRange> abandonBefore(const RangeEndRecord& record);
  // The process is gone: everything that is still open.
  [[nodiscard]] std::vector<CompletedRange> finish();

  // Ends without a begin. Start/end ids count only after finish().
  [[nodiscard]] uint64_t unmatchedEnds() const noexcept { return m_unmatchedEnds; }
  // Push/pop ranges whose end or whose begin was lost.
  [[nodiscard]] uint64_t lostEnds() const noexcept { return m_lostEnds; }
  [[nodiscard]] uint64_t lostBegins() const noexcept { return m_lostBegins; }
  // Ranges that were written as open because more than kMaxOpen were.
  [[nodiscard]] uint64_t overflows() const noexcept { return m_overflows; }

 private:
  static constexpr size_t kMaxOpen = 1'000'000;
  static constexpr size_t kMaxIdleStacks = 10'000;  // threads that are kept although nothing is open on them
  struct EarlyEnd {
    int64_t timeNs;
    uint32_t tid;
  };

  std::optional<CompletedRange> pop(const RangeEndRecord& record, int64_t timeNs);
  std::vector<CompletedRange> abandon(uint32_t tid, StringId domain, uint64_t firstLevel);

  std::unordered_map<uint32_t, std::vector<CompletedRange>> m_stacks;  // by thread
  std::unordered_map<uint64_t, CompletedRange> m_started;              // start/end, by key
  std::unordered_map<uint64_t, EarlyEnd> m_earlyEnds;
  size_t m_openPushes = 0;
  uint64_t m_unmatchedEnds = 0;
  uint64_t m_overflows = 0;
  uint64_t m_lostEnds = 0;
  uint64_t m_lostBegins = 0;
};

}  // namespace plumb::recorder
