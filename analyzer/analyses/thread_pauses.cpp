// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/thread_pauses.h"

#include <algorithm>
#include <utility>

#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/row_scan.h"

namespace plumb {

Result<ThreadPauses> ThreadPauses::load(Trace& trace, const std::set<ThreadId>& threads, const Loading& loading) {
  ThreadPauses result;
  std::map<ThreadId, std::vector<Interval>> times;
  std::pair<ThreadId, std::vector<Interval>*> last{ThreadId(), nullptr};
  const Status read =
      scanRows(trace.database(), "thread_id, start_ns, duration_ns, parent_id", "operator", [&](const RowValues& row) {
        if (!row.isNull(3)) return;  // inside of another
        const auto thread = row.id<ThreadId>(0);
        if (!threads.contains(thread) || !isUsableTime(row.integer(1), row.integer(2))) return;
        if (!last.second || last.first != thread) last = {thread, &times[thread]};
        last.second->push_back(intervalOf(row.integer(1), row.integer(2)));
      });
  if (!read.ok()) return read.error();
  for (const ThreadId thread : threads) {
    const auto mine = times.find(thread);
    const auto loads = loading.find(thread);
    if (mine == times.end() && loads == loading.end()) continue;
    Busy& busy = result.m_threads[thread];
    IntervalSet all;
    if (mine != times.end()) {
      busy.hasOperators = true;
      all = IntervalSet::unionOf(std::move(mine->second));
    }
    busy.parts = (loads == loading.end() ? all : unite(all, loads->second)).parts();
  }
  return result;
}

std::optional<Interval> ThreadPauses::hullIn(ThreadId thread, const IntervalSet& window) const {
  const auto found = m_threads.find(thread);
  if (found == m_threads.end() || window.parts().empty()) return std::nullopt;
  const std::vector<Interval>& parts = found->second.parts;
  std::optional<Interval> hull;
  const Interval whole{window.parts().front().start, window.parts().back().end};
  auto part = std::ranges::partition_point(parts, [&](const Interval& one) { return one.start < whole.start; });
  for (; part != parts.end() && part->start < whole.end; ++part) {
    if (!window.contains(part->start) || part->end >= TimePoint(kLargestTimeNs)) continue;  // an open one tells no end
    hull = hull ? Interval{hull->start, std::max(hull->end, part->end)} : *part;
  }
  return hull;
}

std::optional<Interval> ThreadPauses::longestIn(ThreadId thread, Interval window) const {
  const auto found = m_threads.find(thread);
  if (found == m_threads.end() || !found->second.hasOperators || window.length() < kLongPause) return std::nullopt;
  const std::vector<Interval>& parts = found->second.parts;
  size_t& at = found->second.hint;
  at = partitionPointNear(parts, at, [&](const Interval& one) { return one.end <= window.start; });
  Interval longest{window.start, window.start}, pause = longest;
  const auto endPause = [&](TimePoint end) {
    pause.end = end;
    if (longest.length() < pause.length()) longest = pause;
  };
  for (size_t i = at; i < parts.size() && parts[i].start < window.end; ++i) {
    endPause(std::max(pause.start, parts[i].start));
    pause.start = parts[i].end;
  }
  if (pause.start < window.end) endPause(window.end);
  return longest.length() < kLongPause ? std::nullopt : std::optional(longest);
}

}  // namespace plumb
