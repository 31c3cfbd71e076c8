// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/activity_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "analyzer/intervals/sort_runs.h"

namespace plumb {

ActivityGraph::Activity ActivityGraph::add(Interval time) {
  m_times.push_back(time);
  return static_cast<Activity>(m_times.size() - 1);
}

// Causes come first in this order, so that no circle is possible even among activities without a length.
bool ActivityGraph::precedes(Activity a, Activity b) const {
  return std::tuple(m_times[a].end, m_times[a].start, a) < std::tuple(m_times[b].end, m_times[b].start, b);
}

void ActivityGraph::addEdge(Activity activity, Activity earlier, Activity mark) {
  if (activity == earlier || m_times[earlier].end > m_times[activity].start || !precedes(earlier, activity)) return;
  m_edges.push_back({activity, earlier | mark});
}

void ActivityGraph::depend(Activity activity, Activity earlier) { addEdge(activity, earlier, 0); }

void ActivityGraph::dependAfterLatency(Activity activity, Activity earlier) {
  addEdge(activity, earlier, kLatencyMark);
}

void ActivityGraph::becomeArrival(Activity activity, Activity rest) {
  m_times[activity].end = m_times[activity].start;
  m_rests.push_back({activity, rest, m_edges.size()});
}

void ActivityGraph::redirectToRests() {
  if (m_rests.empty()) return;
  std::vector<uint32_t> restOf(size());  // one more than an index; 0: none
  for (uint32_t i = 0; i < m_rests.size(); ++i) {
    if (restOf[m_rests[i].activity] == 0) restOf[m_rests[i].activity] = i + 1;
  }
  for (size_t i = 0; i < m_edges.size(); ++i) {
    const uint32_t place = restOf[m_edges[i].earlier()];
    if (place != 0 && i < m_rests[place - 1].edgeCount) m_edges[i].cause = m_rests[place - 1].rest;
  }
}

void ActivityGraph::finish() {
  redirectToRests();
  std::erase_if(m_edges, [this](const Edge& edge) { return !precedes(edge.earlier(), edge.activity); });
  m_firstCause.assign(size() + 1, 0);
  for (const Edge& edge : m_edges) ++m_firstCause[edge.activity];
  std::partial_sum(m_firstCause.begin(), m_firstCause.end(), m_firstCause.begin());
  m_causes.resize(m_edges.size());
  for (const Edge& edge : m_edges) m_causes[--m_firstCause[edge.activity]] = edge.cause;
  m_edges = {};
  m_begin = TimePoint();
  if (!m_times.empty()) {
    m_begin = std::ranges::min_element(m_times, {}, &Interval::start)->start;
  }
}

std::vector<ActivityGraph::PathStep> ActivityGraph::longestPath() const {
  std::vector<PathStep> path;
  if (m_times.empty()) return path;
  Activity activity = 0;  // finishes last
  for (Activity other = 1; other < size(); ++other) {
    if (precedes(activity, other)) activity = other;
  }
  for (;;) {
    PathStep step{activity, 0, false, m_begin};
    TimePoint ready;
    forEachCauseWithLatency(activity, [&](Activity earlier, Duration latency) {
      const TimePoint mine = m_times[earlier].end + latency;
      if (step.hasCause && (mine < ready || (mine == ready && !precedes(step.cause, earlier)))) return;
      step = {activity, earlier, true, m_times[earlier].end};
      ready = mine;
    });
    path.push_back(step);
    if (!step.hasCause) break;
    activity = step.cause;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

ActivitySchedule::ActivitySchedule(const ActivityGraph& graph) : m_graph(graph) {
  m_order.resize(graph.size());
  std::iota(m_order.begin(), m_order.end(), ActivityGraph::Activity{0});
  sortRuns(m_order, [&](ActivityGraph::Activity a, ActivityGraph::Activity b) { return graph.precedes(a, b); });
  m_lags.reserve(graph.size());
  for (ActivityGraph::Activity i = 0; i < graph.size(); ++i) {
    TimePoint ready = graph.m_begin;
    graph.forEachCauseWithLatency(i, [&](ActivityGraph::Activity cause, Duration latency) {
      ready = std::max(ready, graph.m_times[cause].end + latency);
    });
    m_lags.push_back(graph.m_times[i].start - ready);
  }
}

}  // namespace plumb
