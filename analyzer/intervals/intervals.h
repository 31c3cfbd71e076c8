// SPDX-License-Identifier: Apache-2.0
// The one place of interval arithmetic. Integer nanoseconds, half-open. An empty interval adds nothing.
#pragma once
#include <vector>

#include "analyzer/trace/time.h"

namespace plumb {

// Disjoint intervals in order, none empty, no two touching: the union of whatever it was made from.
class IntervalSet {
 public:
  IntervalSet() = default;
  // Any order, overlapping, empty ones allowed.
  [[nodiscard]] static IntervalSet unionOf(std::vector<Interval> intervals);

  [[nodiscard]] const std::vector<Interval>& parts() const { return m_parts; }
  [[nodiscard]] bool empty() const { return m_parts.empty(); }
  [[nodiscard]] Duration length() const;
  [[nodiscard]] bool contains(TimePoint time) const;  // O(log n)
  // Length of the part inside the window: O(log n + parts inside).
  [[nodiscard]] Duration lengthWithin(Interval window) const;
  [[nodiscard]] IntervalSet clipped(Interval window) const;
  // What of the window is not covered.
  [[nodiscard]] IntervalSet gaps(Interval window) const;
  // From the first start to the last end; empty at 0 for an empty set.
  [[nodiscard]] Interval hull() const;

  friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

 private:
  friend IntervalSet unite(const IntervalSet&, const IntervalSet&);
  friend IntervalSet intersect(const IntervalSet&, const IntervalSet&);
  friend IntervalSet subtract(const IntervalSet&, const IntervalSet&);
  void append(Interval next);  // requires next.start >= the last start
  std::vector<Interval> m_parts;
};

[[nodiscard]] IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);  // a without b

// The window's part of the interval; empty (at the window's nearer edge) when they do not meet.
[[nodiscard]] Interval clip(Interval interval, Interval window);

// How many of the intervals cover each moment: the value holds from `time` to the next step's time. Ends count before
// starts at the same moment, so touching intervals do not overlap. Empty intervals are left out.
struct DepthStep {
  TimePoint time;
  int depth;
  friend bool operator==(const DepthStep&, const DepthStep&) = default;
};
[[nodiscard]] std::vector<DepthStep> depthOverTime(const std::vector<Interval>& intervals);

}  // namespace plumb
