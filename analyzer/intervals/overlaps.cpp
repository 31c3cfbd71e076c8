// SPDX-License-Identifier: Apache-2.0
#include "analyzer/intervals/overlaps.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace plumb {
namespace {

class Sweep {
 public:
  explicit Sweep(std::span<const Interval> intervals) : m_intervals(intervals) {
    for (size_t i = 0; i < intervals.size(); ++i) {
      if (!intervals[i].empty()) m_order.push_back(i);
    }
    std::ranges::stable_sort(m_order, {}, [&](size_t i) { return intervals[i].start; });
  }
  [[nodiscard]] bool atEnd() const { return m_next == m_order.size(); }
  [[nodiscard]] TimePoint nextStart() const { return m_intervals[m_order[m_next]].start; }
  // The next interval to begin, which runs from now on.
  size_t begin() {
    m_running.push_back(m_order[m_next]);
    return m_order[m_next++];
  }
  // Those that run at the time; what has ended is forgotten, so that each is looked at only while it gives pairs.
  const std::vector<size_t>& runningAt(TimePoint time) {
    std::erase_if(m_running, [&](size_t i) { return m_intervals[i].end <= time; });
    return m_running;
  }

 private:
  std::span<const Interval> m_intervals;
  std::vector<size_t> m_order, m_running;
  size_t m_next = 0;
};

}  // namespace

void forEachOverlap(std::span<const Interval> a, std::span<const Interval> b,
                    const std::function<bool(size_t, size_t, Interval)>& take) {
  Sweep left(a), right(b);
  while (!left.atEnd() || !right.atEnd()) {
    const bool isLeft = !left.atEnd() && (right.atEnd() || left.nextStart() <= right.nextStart());
    const size_t begun = (isLeft ? left : right).begin();
    const Interval& now = (isLeft ? a : b)[begun];
    for (const size_t other : (isLeft ? right : left).runningAt(now.start)) {
      const Interval shared{now.start, std::min(now.end, (isLeft ? b : a)[other].end)};
      const auto [i, j] = isLeft ? std::pair(begun, other) : std::pair(other, begun);
      if (!take(i, j, shared)) return;
    }
  }
}

}  // namespace plumb
