// SPDX-License-Identifier: Apache-2.0
// When a host thread that runs a framework's operators did nothing for long: neither an operator nor a CUDA call of it
// was recorded. Threads without operators have no pauses: what they do between their calls is not known.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analyzer/trace/time.h"
#include "analyzer/trace/trace.h"

namespace plumb {

inline constexpr Duration kLongPause{200'000};

class ThreadPauses {
 public:
  // Of these threads.
  [[nodiscard]] static Result<ThreadPauses> load(Trace& trace, const std::set<ThreadId>& threads);
  // The longest pause of the thread in the window, between two CUDA calls. O(operators in it) when windows are asked
  // for in order.
  [[nodiscard]] std::optional<Interval> longestIn(ThreadId thread, Interval window) const;

 private:
  struct Busy {
    std::vector<Interval> operators;  // disjoint, in order
    mutable size_t hint = 0;
  };
  std::map<ThreadId, Busy> m_threads;
};

}  // namespace plumb
