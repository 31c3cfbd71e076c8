// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/activity_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace plumb {

size_t ActivityGraph::add(Interval time) {
  m_times.push_back(time);
  return m_times.size() - 1;
}

// Causes come first in this order, so that no circle is possible even among activities without a length.
bool ActivityGraph::precedes(size_t a, size_t b) const {
  return std::tuple(m_times[a].end, m_times[a].start, a) < std::tuple(m_times[b].end, m_times[b].start, b);
}

void ActivityGraph::depend(size_t activity, size_t earlier) {
  if (activity == earlier || m_times[earlier].end > m_times[activity].start || !precedes(earlier, activity)) return;
  m_edges.push_back({activity, earlier});
}

void ActivityGraph::becomeArrival(size_t activity, size_t rest) {
  m_times[activity].end = m_times[activity].start;
  m_rests.emplace(activity, Rest{rest, m_edges.size()});
}

void ActivityGraph::finish() {
  for (size_t i = 0; i < m_edges.size() && !m_rests.empty(); ++i) {
    const auto rest = m_rests.find(m_edges[i].earlier);
    if (rest != m_rests.end() && i < rest->second.edgeCount) m_edges[i].earlier = rest->second.activity;
  }
  std::erase_if(m_edges, [this](const Edge& edge) { return !precedes(edge.earlier, edge.activity); });
  std::sort(m_edges.begin(), m_edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.activity, a.earlier) < std::tie(b.activity, b.earlier);
  });
  m_firstEdge.assign(size() + 1, 0);
  for (const Edge& edge : m_edges) ++m_firstEdge[edge.activity + 1];
  std::partial_sum(m_firstEdge.begin(), m_firstEdge.end(), m_firstEdge.begin());
  m_order.resize(size());
  std::iota(m_order.begin(), m_order.end(), size_t{0});
  std::sort(m_order.begin(), m_order.end(), [this](size_t a, size_t b) { return precedes(a, b); });
  m_begin = TimePoint();
  if (!m_times.empty()) {
    m_begin = std::min_element(m_times.begin(), m_times.end(), [](const Interval& a, const Interval& b) {
                return a.start < b.start;
              })->start;
  }
  m_lags.resize(size());
  for (size_t i = 0; i < size(); ++i) {
    TimePoint ready = m_begin;
    for (size_t e = m_firstEdge[i]; e < m_firstEdge[i + 1]; ++e)
      ready = std::max(ready, m_times[m_edges[e].earlier].end);
    m_lags[i] = m_times[i].start - ready;
  }
}

std::vector<ActivityGraph::PathStep> ActivityGraph::longestPath() const {
  std::vector<PathStep> path;
  if (m_times.empty()) return path;
  size_t activity = m_order.back();  // finishes last
  for (;;) {
    PathStep step{activity, m_begin, false, 0};
    for (size_t e = m_firstEdge[activity]; e < m_firstEdge[activity + 1]; ++e) {
      const size_t earlier = m_edges[e].earlier;
      if (step.hasCause && !precedes(step.cause, earlier)) continue;
      step = {activity, m_times[earlier].end, true, earlier};
    }
    path.push_back(step);
    if (!step.hasCause) break;
    activity = step.cause;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Duration ActivityGraph::wholeTime(const std::function<Duration(size_t)>& duration) const {
  std::vector<TimePoint> finished(size(), m_begin);
  TimePoint last = m_begin;
  for (const size_t activity : m_order) {
    TimePoint ready = m_begin;
    for (size_t e = m_firstEdge[activity]; e < m_firstEdge[activity + 1]; ++e) {
      ready = std::max(ready, finished[m_edges[e].earlier]);
    }
    finished[activity] = ready + m_lags[activity] + duration(activity);
    last = std::max(last, finished[activity]);
  }
  return last - m_begin;
}

}  // namespace plumb
