// SPDX-License-Identifier: Apache-2.0
// One process's clocks, to the session's time.
//
// CUPTI's clock (often CLOCK_REALTIME, which NTP slews) is mapped to CLOCK_MONOTONIC_RAW piecewise linearly between the
// process's clock pairs; before the first and after the last pair, and after a jump of CUPTI's clock, the clocks are
// taken to run at the same speed. The map is continuous and never decreases except at such a jump.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>

#include "collector/api/records.h"

namespace plumb::recorder {

class ClockMap {
 public:
  // Both: the instant of the session's start.
  ClockMap(int64_t sessionMonotonicNs, int64_t sessionRealtimeNs) noexcept
      : m_sessionMonotonicNs(sessionMonotonicNs), m_sessionRealtimeNs(sessionRealtimeNs) {}

  enum class Added { kYes, kJump, kIgnored };
  // kJump: CUPTI's clock went backwards or apart from the other by more than kJumpNs since the last pair; the map
  // starts anew with this one. kIgnored: no CUPTI time, or older than the last pair on both clocks.
  Added addPair(int64_t monotonicNs, int64_t cuptiNs);

  // A pair at or after that time is known, or it needs none (another clock, no time): its conversion is final.
  [[nodiscard]] bool covers(Clock clock, int64_t timeNs) const noexcept;
  // Session time. Without any pair CUPTI's clock is taken for CLOCK_REALTIME. Saturates.
  [[nodiscard]] int64_t toSession(Clock clock, int64_t timeNs) const noexcept;
  [[nodiscard]] bool hasPairs() const noexcept { return !m_pairs.empty(); }

 private:
  static constexpr int64_t kJumpNs = 100'000'000;
  static constexpr size_t kMaxPairs = 65'536;  // half an hour and more at any sane rate; late records are not that late
  struct Pair {
    int64_t cuptiNs;
    int64_t monotonicNs;
  };

  int64_t m_sessionMonotonicNs;
  int64_t m_sessionRealtimeNs;
  std::deque<Pair> m_pairs;  // increasing on both clocks
};

}  // namespace plumb::recorder
