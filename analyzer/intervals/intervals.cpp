// SPDX-License-Identifier: Apache-2.0
#include "analyzer/intervals/intervals.h"

#include <algorithm>
#include <utility>

namespace plumb {
namespace {

bool startsEarlier(const Interval& a, const Interval& b) { return a.start < b.start; }

// The first part that ends after t.
std::vector<Interval>::const_iterator firstEndingAfter(const std::vector<Interval>& parts, TimePoint t) {
  return std::partition_point(parts.begin(), parts.end(), [t](const Interval& part) { return part.end <= t; });
}

}  // namespace

Interval clip(Interval interval, Interval window) {
  const TimePoint start = std::clamp(interval.start, window.start, window.end);
  return {start, std::clamp(interval.end, start, window.end)};
}

void IntervalSet::append(Interval next) {
  if (next.empty()) return;
  if (!m_parts.empty() && next.start <= m_parts.back().end) {
    m_parts.back().end = std::max(m_parts.back().end, next.end);
  } else {
    m_parts.push_back(next);
  }
}

IntervalSet IntervalSet::unionOf(std::vector<Interval> intervals) {
  if (!std::is_sorted(intervals.begin(), intervals.end(), startsEarlier)) {
    std::sort(intervals.begin(), intervals.end(), startsEarlier);
  }
  IntervalSet result;
  for (const Interval& interval : intervals) result.append(interval);
  return result;
}

Duration IntervalSet::length() const {
  Duration sum;
  for (const Interval& part : m_parts) sum += part.length();
  return sum;
}

bool IntervalSet::contains(TimePoint time) const {
  const auto after = std::ranges::upper_bound(m_parts, time, {}, &Interval::start);
  return after != m_parts.begin() && std::prev(after)->contains(time);
}

Duration IntervalSet::lengthWithin(Interval window) const {
  Duration sum;
  for (auto part = firstEndingAfter(m_parts, window.start); part != m_parts.end() && part->start < window.end; ++part) {
    sum += clip(*part, window).length();
  }
  return sum;
}

IntervalSet IntervalSet::clipped(Interval window) const {
  IntervalSet result;
  for (auto part = firstEndingAfter(m_parts, window.start); part != m_parts.end() && part->start < window.end; ++part) {
    result.append(clip(*part, window));
  }
  return result;
}

IntervalSet IntervalSet::gaps(Interval window) const {
  IntervalSet all;
  all.append(window);
  return subtract(all, *this);
}

Interval IntervalSet::hull() const {
  if (m_parts.empty()) return {};
  return {m_parts.front().start, m_parts.back().end};
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet result;
  auto left = a.m_parts.begin();
  auto right = b.m_parts.begin();
  while (left != a.m_parts.end() || right != b.m_parts.end()) {
    const bool takeLeft = right == b.m_parts.end() || (left != a.m_parts.end() && left->start < right->start);
    result.append(takeLeft ? *left++ : *right++);
  }
  return result;
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet result;
  auto left = a.m_parts.begin();
  auto right = b.m_parts.begin();
  while (left != a.m_parts.end() && right != b.m_parts.end()) {
    const Interval common{std::max(left->start, right->start), std::min(left->end, right->end)};
    if (common.start < common.end) result.append(common);
    (left->end < right->end ? left : right)++;
  }
  return result;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet result;
  auto hole = b.m_parts.begin();
  for (Interval rest : a.m_parts) {
    while (hole != b.m_parts.end() && hole->end <= rest.start) ++hole;
    // The hole that reaches past this part may also cut the next one, so `hole` stays at it.
    for (auto cut = hole; cut != b.m_parts.end() && cut->start < rest.end; ++cut) {
      if (rest.start < cut->start) result.append({rest.start, cut->start});
      rest.start = std::min(cut->end, rest.end);
      if (cut->end <= rest.end) hole = cut;
    }
    result.append(rest);
  }
  return result;
}

std::vector<DepthStep> depthOverTime(const std::vector<Interval>& intervals) {
  std::vector<TimePoint> starts, ends;
  starts.reserve(intervals.size());
  ends.reserve(intervals.size());
  for (const Interval& interval : intervals) {
    if (interval.empty()) continue;
    starts.push_back(interval.start);
    ends.push_back(interval.end);
  }
  for (auto* times : {&starts, &ends}) {
    if (!std::is_sorted(times->begin(), times->end())) std::sort(times->begin(), times->end());
  }
  std::vector<DepthStep> result;
  int depth = 0;
  for (size_t started = 0, ended = 0; ended < ends.size();) {
    const TimePoint time = started < starts.size() ? std::min(starts[started], ends[ended]) : ends[ended];
    for (; ended < ends.size() && ends[ended] == time; ++ended) --depth;
    for (; started < starts.size() && starts[started] == time; ++started) ++depth;
    // A moment at which as many ended as began changes nothing.
    if (result.empty() ? depth != 0 : depth != result.back().depth) result.push_back({time, depth});
  }
  return result;
}

}  // namespace plumb
