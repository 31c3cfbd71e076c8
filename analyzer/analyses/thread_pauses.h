// SPDX-License-Identifier: Apache-2.0
// When a host thread that runs a framework's operators did nothing for long: it neither ran an operator nor loaded
// data, and made no CUDA call. Threads without operators have no pauses: what they do between their calls is not known.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/time.h"
#include "analyzer/trace/trace.h"

namespace plumb {

inline constexpr Duration kLongPause{200'000};

class ThreadPauses {
 public:
  using Loading = std::map<ThreadId, IntervalSet>;  // data_loading.h
  // Of these threads.
  [[nodiscard]] static Result<ThreadPauses> load(Trace& trace, const std::set<ThreadId>& threads,
                                                 const Loading& loading);
  // The longest pause of the thread in the window, between two CUDA calls. O(operators in it) when windows are asked
  // for in order.
  [[nodiscard]] std::optional<Interval> longestIn(ThreadId thread, Interval window) const;
  // From the first operator or loading of the thread that begins in the window to the end of the last; none: it has
  // none.
  [[nodiscard]] std::optional<Interval> hullIn(ThreadId thread, const IntervalSet& window) const;

 private:
  struct Busy {
    std::vector<Interval> parts;  // operators and loading: disjoint, in order
    bool hasOperators = false;
    mutable size_t hint = 0;
  };
  std::map<ThreadId, Busy> m_threads;
};

}  // namespace plumb
