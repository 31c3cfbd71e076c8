// SPDX-License-Identifier: Apache-2.0
// What went wrong with one process's events: counted while recording, written as diagnostic rows at the end.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include "collector/recorder/storage.h"

namespace plumb::recorder {

enum class Problem {
  kBadTime,
  kBadDuration,
  kClockJump,
  kNoClockPair,
  kUnmatchedRangeEnd,
  kLostRangeEnd,
  kLostRangeBegin,
  kTooManyOpenRanges,
  kLostPayload,
  kUnknownFree,
  kUnknownRegionEnd,
  kOrphanedCollectiveDetail,
  kIncompleteCollective,
  kUnknownDatatype,
  kUnknownCommunicator,
  kUnknownText,
  kNotANumber,
  kUnknownRecord,
  kCorruptRing,
  kRingFull,
  kCount,
};

class Problems {
 public:
  void add(Problem problem, uint64_t count = 1) noexcept { m_counts[static_cast<size_t>(problem)] += count; }
  [[nodiscard]] uint64_t count(Problem problem) const noexcept { return m_counts[static_cast<size_t>(problem)]; }
  // One row per problem that occurred.
  void write(Writer& writer, int64_t processId, int64_t nowNs) const;

 private:
  std::array<uint64_t, static_cast<size_t>(Problem::kCount)> m_counts{};
};

// A diagnostic of the recorder itself (processId 0: of no process).
void writeDiagnostic(Writer& writer, int64_t processId, int64_t nowNs, const char* severity, const char* code,
                     uint64_t count, const std::string& message);

}  // namespace plumb::recorder
