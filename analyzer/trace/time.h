// SPDX-License-Identifier: Apache-2.0
// Times of a trace. A point in time and a length of time are different types, so that adding two points or comparing a
// point with a length does not compile.
#pragma once
#include <compare>
#include <cstdint>

namespace plumb {

// A length of time in nanoseconds.
class Duration {
 public:
  constexpr Duration() = default;
  constexpr explicit Duration(int64_t nanoseconds) : m_ns(nanoseconds) {}

  [[nodiscard]] constexpr int64_t ns() const { return m_ns; }
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(m_ns) * 1e-9; }

  constexpr Duration& operator+=(Duration other) {
    m_ns += other.m_ns;
    return *this;
  }
  constexpr Duration& operator-=(Duration other) {
    m_ns -= other.m_ns;
    return *this;
  }
  friend constexpr Duration operator+(Duration a, Duration b) { return a += b; }
  friend constexpr Duration operator-(Duration a, Duration b) { return a -= b; }
  friend constexpr auto operator<=>(Duration, Duration) = default;

 private:
  int64_t m_ns = 0;
};

// Nanoseconds since the session's start (the file's one clock).
class TimePoint {
 public:
  constexpr TimePoint() = default;
  constexpr explicit TimePoint(int64_t nanoseconds) : m_ns(nanoseconds) {}

  [[nodiscard]] constexpr int64_t ns() const { return m_ns; }

  friend constexpr TimePoint operator+(TimePoint t, Duration d) { return TimePoint(t.m_ns + d.ns()); }
  friend constexpr TimePoint operator-(TimePoint t, Duration d) { return TimePoint(t.m_ns - d.ns()); }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) { return Duration(a.m_ns - b.m_ns); }
  friend constexpr auto operator<=>(TimePoint, TimePoint) = default;

 private:
  int64_t m_ns = 0;
};

// Half-open: [start, end). Valid when start <= end; empty when they are equal.
struct Interval {
  TimePoint start;
  TimePoint end;

  [[nodiscard]] constexpr Duration length() const { return end - start; }
  [[nodiscard]] constexpr bool empty() const { return !(start < end); }
  [[nodiscard]] constexpr bool contains(TimePoint t) const { return start <= t && t < end; }
  friend constexpr bool operator==(const Interval&, const Interval&) = default;
};

// Times beyond this (73 years) are damage; sums of valid ones stay far from overflow.
inline constexpr int64_t kLargestTimeNs = int64_t{1} << 61;

// False for what the arithmetic must not see: a negative duration or a time that cannot be one.
[[nodiscard]] constexpr bool isUsableTime(int64_t startNs, int64_t durationNs) {
  return startNs > -kLargestTimeNs && startNs < kLargestTimeNs && durationNs >= 0 && durationNs < kLargestTimeNs;
}

// Requires isUsableTime(startNs, durationNs).
[[nodiscard]] constexpr Interval intervalOf(int64_t startNs, int64_t durationNs) {
  return {TimePoint(startNs), TimePoint(startNs + durationNs)};
}

}  // namespace plumb
