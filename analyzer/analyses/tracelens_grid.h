// SPDX-License-Identifier: Apache-2.0
// Times as TraceLens has them after reading a torch.profiler trace.
#pragma once
#include "analyzer/intervals/intervals.h"

namespace plumb {

// Time as the source's floating-point microseconds hold it, in parts of a microsecond that are exact in them.
class TraceLensGrid {
 public:
  explicit TraceLensGrid(int64_t originNs) : m_originNs(originNs) {
    // torch.profiler counts from the last multiple of three months.
    constexpr int64_t kThreeMonthsNs = 7'889'238 * int64_t{1'000'000'000};
    m_baseNs = originNs > 0 ? originNs / kThreeMonthsNs * kThreeMonthsNs : 0;
  }
  [[nodiscard]] Interval operator()(Interval time) const {
    const double start = microseconds(m_originNs - m_baseNs + time.start.ns());
    const double end = start + static_cast<double>(time.length().ns()) / 1000;
    return {parts(start), parts(end)};
  }
  [[nodiscard]] static double milliseconds(Duration parts) { return static_cast<double>(parts.ns()) / kParts / 1000; }

 private:
  static constexpr double kParts = 1 << 14;
  static double microseconds(int64_t ns) {
    return static_cast<double>(ns / 1000) + static_cast<double>(ns % 1000) / 1000;
  }
  static TimePoint parts(double us) { return TimePoint(static_cast<int64_t>(us * kParts)); }
  int64_t m_originNs, m_baseNs = 0;
};

}  // namespace plumb
