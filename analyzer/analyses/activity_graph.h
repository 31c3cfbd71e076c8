// SPDX-License-Identifier: Apache-2.0
// What depended on what: activities that begin when all that they depend on has finished, after a lag of their own.
// Times as recorded come out exactly, because an activity's lag is what the recording shows; other durations give the
// times that would have been. Pure: knows nothing of traces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "analyzer/trace/time.h"

namespace plumb {

class ActivityGraph {
 public:
  // Returns the activity's index.
  size_t add(Interval time);
  // `activity` begins after `earlier` has finished. Left out when the recording contradicts it.
  void depend(size_t activity, size_t earlier);
  // The activity ends where it starts, and `rest`, a new one, stands for its end: what depended on it depends on that.
  void becomeArrival(size_t activity, size_t rest);
  // No more changes; needed before the following.
  void finish();

  [[nodiscard]] size_t size() const { return m_times.size(); }
  [[nodiscard]] Interval time(size_t activity) const { return m_times[activity]; }
  [[nodiscard]] TimePoint begin() const { return m_begin; }  // of the first activity

  // One step of the longest path: nothing on the path happened from `waitStart` to the activity's start but its lag.
  struct PathStep {
    size_t activity;
    TimePoint waitStart;
    bool hasCause = false;  // false: it depends on nothing, and waitStart is the beginning
    size_t cause = 0;       // what it waited for: the previous step
  };
  // From the beginning to the activity that finishes last. The waits and durations add up to the whole time.
  [[nodiscard]] std::vector<PathStep> longestPath() const;

  // The whole time with other durations: `duration` gives that of each activity.
  [[nodiscard]] Duration wholeTime(const std::function<Duration(size_t)>& duration) const;

 private:
  struct Edge {
    size_t activity, earlier;
  };
  [[nodiscard]] bool precedes(size_t a, size_t b) const;
  std::vector<Interval> m_times;
  struct Rest {
    size_t activity, edgeCount;  // what stands for the end of all edges before that one
  };
  std::unordered_map<size_t, Rest> m_rests;
  std::vector<Edge> m_edges;        // by activity after finish()
  std::vector<size_t> m_firstEdge;  // index into m_edges of each activity's first, and the end
  std::vector<size_t> m_order;      // activities, causes first
  std::vector<Duration> m_lags;
  TimePoint m_begin;
};

}  // namespace plumb
