// SPDX-License-Identifier: Apache-2.0
// What depended on what: activities that begin when all that they depend on has finished, after a lag of their own.
// Times as recorded come out exactly, because an activity's lag is what the recording shows; other durations give the
// times that would have been. Pure: knows nothing of traces.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/trace/time.h"

namespace plumb {

class ActivityGraph {
 public:
  using Activity = uint32_t;  // an index

  Activity add(Interval time);
  // `activity` begins after `earlier` has finished. Left out when the recording contradicts it.
  void depend(Activity activity, Activity earlier);
  // Likewise, and then not before the latency.
  void dependAfterLatency(Activity activity, Activity earlier);
  void setLatency(Duration latency) { m_latency = latency; }  // at least zero; none as long as it is not set
  // The activity ends where it starts, and `rest`, a new one, stands for its end: what depended on it depends on that.
  void becomeArrival(Activity activity, Activity rest);
  // The activity begins only where it ends: until then it waited for what it depends on.
  void becomeReturn(Activity activity) { m_times[activity].start = m_times[activity].end; }
  // Its time is that of another clock.
  void move(Activity activity, Duration by) {
    m_times[activity] = {m_times[activity].start + by, m_times[activity].end + by};
  }
  // No more changes; needed before the following.
  void finish();

  [[nodiscard]] size_t size() const { return m_times.size(); }
  [[nodiscard]] Interval time(Activity activity) const { return m_times[activity]; }
  [[nodiscard]] TimePoint begin() const { return m_begin; }  // of the first activity

  // Calls take(earlier) for all that the activity depends on.
  template <class Take>
  void forEachCause(Activity activity, Take take) const {
    for (uint32_t at = m_firstCause[activity]; at < m_firstCause[activity + 1]; ++at)
      take(m_causes[at] & ~kLatencyMark);
  }

  // One step of the longest path: nothing on the path happened from `waitStart` to the activity's start but its lag.
  struct PathStep {
    Activity activity = 0;
    Activity cause = 0;     // what it waited for: the previous step
    bool hasCause = false;  // false: it depends on nothing, and waitStart is the beginning
    TimePoint waitStart;
  };
  // From the beginning to the activity that finishes last, each step from what let it begin last. The waits and
  // durations add up to the whole time.
  [[nodiscard]] std::vector<PathStep> longestPath() const;

 private:
  friend class ActivitySchedule;
  static constexpr Activity kLatencyMark = Activity{1} << 31;  // on a cause: its effect begins after the latency
  struct Edge {
    Activity activity, cause;
    [[nodiscard]] Activity earlier() const { return cause & ~kLatencyMark; }
  };
  struct Rest {
    Activity activity, rest;
    size_t edgeCount;  // it stands for the end of all edges before that one
  };
  [[nodiscard]] bool precedes(Activity a, Activity b) const;
  void redirectToRests();
  void addEdge(Activity activity, Activity earlier, Activity mark);
  // Calls take(earlier, latency) likewise. What began sooner after its cause than the latency has what is recorded.
  template <class Take>
  void forEachCauseWithLatency(Activity activity, Take take) const {
    for (uint32_t at = m_firstCause[activity]; at < m_firstCause[activity + 1]; ++at) {
      const Activity earlier = m_causes[at] & ~kLatencyMark;
      const bool isMarked = m_causes[at] != earlier;
      take(earlier, isMarked ? std::min(m_latency, m_times[activity].start - m_times[earlier].end) : Duration());
    }
  }

  std::vector<Interval> m_times;
  std::vector<Rest> m_rests;
  std::vector<Edge> m_edges;           // until finish()
  std::vector<Activity> m_causes;      // of each activity in turn after finish()
  std::vector<uint32_t> m_firstCause;  // index into m_causes of each activity's first, and the end
  TimePoint m_begin;
  Duration m_latency;
};

// What a finished graph needs to say what would have been. The graph must outlive it.
class ActivitySchedule {
 public:
  explicit ActivitySchedule(const ActivityGraph& graph);
  // The whole time with other durations: `duration` gives that of each activity.
  template <class DurationOf>
  [[nodiscard]] Duration wholeTime(DurationOf duration) const {
    std::vector<TimePoint> finished(m_graph.size());
    TimePoint last = m_graph.m_begin;
    for (const ActivityGraph::Activity activity : m_order) {
      TimePoint ready = m_graph.m_begin;
      m_graph.forEachCauseWithLatency(activity, [&](ActivityGraph::Activity cause, Duration latency) {
        ready = std::max(ready, finished[cause] + latency);
      });
      finished[activity] = ready + m_lags[activity] + duration(activity);
      last = std::max(last, finished[activity]);
    }
    return last - m_graph.m_begin;
  }

 private:
  const ActivityGraph& m_graph;
  std::vector<ActivityGraph::Activity> m_order;  // causes first
  std::vector<Duration> m_lags;
};

}  // namespace plumb
