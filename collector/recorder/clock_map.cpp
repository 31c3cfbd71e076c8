// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/clock_map.h"

#include <algorithm>
#include <cstdlib>

#include "collector/recorder/safe_math.h"

namespace plumb::recorder {

ClockMap::Added ClockMap::addPair(int64_t monotonicNs, int64_t cuptiNs) {
  if (cuptiNs <= 0 || monotonicNs <= 0) return Added::kIgnored;
  if (!m_pairs.empty()) {
    const Pair& last = m_pairs.back();
    const int64_t cuptiStep = cuptiNs - last.cuptiNs;  // both positive: no overflow
    const int64_t monotonicStep = monotonicNs - last.monotonicNs;
    if (monotonicStep <= 0) return Added::kIgnored;
    if (cuptiStep <= 0 || std::llabs(cuptiStep - monotonicStep) > kJumpNs + monotonicStep / 100) {
      m_pairs.assign(1, {cuptiNs, monotonicNs});
      return Added::kJump;
    }
  }
  m_pairs.push_back({cuptiNs, monotonicNs});
  if (m_pairs.size() > kMaxPairs) m_pairs.pop_front();
  return Added::kYes;
}

bool ClockMap::covers(Clock clock, int64_t timeNs) const noexcept {
  return clock != Clock::kCupti || timeNs <= 0 || (!m_pairs.empty() && timeNs <= m_pairs.back().cuptiNs);
}

int64_t ClockMap::toSession(Clock clock, int64_t timeNs) const noexcept {
  if (clock != Clock::kCupti) return saturatingSubtract(timeNs, m_sessionMonotonicNs);
  if (m_pairs.empty()) return saturatingSubtract(timeNs, m_sessionRealtimeNs);
  const auto after = std::upper_bound(m_pairs.begin(), m_pairs.end(), timeNs,
                                      [](int64_t time, const Pair& pair) { return time < pair.cuptiNs; });
  const Pair& near = after == m_pairs.begin() ? *after : *(after - 1);
  __int128 monotonic = static_cast<__int128>(timeNs) - near.cuptiNs;
  if (after != m_pairs.begin() && after != m_pairs.end()) {
    monotonic = monotonic * (after->monotonicNs - near.monotonicNs) / (after->cuptiNs - near.cuptiNs);
  }
  return saturate(monotonic + near.monotonicNs - m_sessionMonotonicNs);
}

}  // namespace plumb::recorder
