// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/thread_pauses.h"

#include <algorithm>
#include <utility>

#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/row_scan.h"

namespace plumb {

Result<ThreadPauses> ThreadPauses::load(Trace& trace, const std::set<ThreadId>& threads) {
  ThreadPauses result;
  if (threads.empty()) return result;
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
  for (auto& [thread, mine] : times) {
    result.m_threads[thread].operators = IntervalSet::unionOf(std::move(mine)).parts();
  }
  return result;
}

std::optional<Interval> ThreadPauses::longestIn(ThreadId thread, Interval window) const {
  const auto found = m_threads.find(thread);
  if (found == m_threads.end() || window.length() < kLongPause) return std::nullopt;
  const std::vector<Interval>& operators = found->second.operators;
  size_t& at = found->second.hint;
  at = partitionPointNear(operators, at, [&](const Interval& one) { return one.end <= window.start; });
  Interval longest{window.start, window.start}, pause = longest;
  const auto endPause = [&](TimePoint end) {
    pause.end = end;
    if (longest.length() < pause.length()) longest = pause;
  };
  for (size_t i = at; i < operators.size() && operators[i].start < window.end; ++i) {
    endPause(std::max(pause.start, operators[i].start));
    pause.start = operators[i].end;
  }
  if (pause.start < window.end) endPause(window.end);
  return longest.length() < kLongPause ? std::nullopt : std::optional(longest);
}

}  // namespace plumb
