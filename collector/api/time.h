// SPDX-License-Identifier: Apache-2.0
// Clocks of the target process.
#pragma once
#include <ctime>

#include <cstdint>

namespace plumb {

inline constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

inline int64_t readClockNs(clockid_t clock) noexcept {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * kNanosecondsPerSecond + t.tv_nsec;
}

// The clock of all host events: not slewed by NTP, the same in every process of a host.
inline int64_t monotonicNowNs() noexcept { return readClockNs(CLOCK_MONOTONIC_RAW); }
inline int64_t realtimeNowNs() noexcept { return readClockNs(CLOCK_REALTIME); }

}  // namespace plumb
