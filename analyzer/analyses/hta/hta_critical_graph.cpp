// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_critical_graph.h"

#include <algorithm>

#include "analyzer/analyses/hta/hta_sort.h"

namespace plumb::hta {

const char* nameOf(EdgeType type) {
  switch (type) {
    case EdgeType::Operator:
      return "critical_path_operator";
    case EdgeType::Dependency:
      return "critical_path_dependency";
    case EdgeType::LaunchDelay:
      return "critical_path_kernel_launch_delay";
    case EdgeType::KernelDelay:
      return "critical_path_kernel_kernel_delay";
    case EdgeType::Synchronization:
      return "critical_path_sync_dependency";
  }
  return "";
}

void CriticalGraph::numberNodes() {
  const auto count = static_cast<size_t>(std::ranges::count(events, true, &GraphEvent::isNode));
  nodes.reserve(count * 2);
  for (const bool isStart : {true, false}) {
    for (uint32_t event = 0; event < events.size(); ++event) {
      if (events[event].isNode) nodes.push_back({isStart ? events[event].ts : events[event].end, event, isStart});
    }
  }
  sortAsNumpy(nodes, [](const GraphNode& node) { return node.ts; });
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    GraphEvent& event = events[nodes[node].event];
    (nodes[node].isStart ? event.startNode : event.endNode) = node;
  }
  edges.reserve(nodes.size() + nodes.size() / 8);
}

GraphEdge& CriticalGraph::connect(uint32_t from, uint32_t to, EdgeType type, bool isWeightless) {
  const bool isOrder = isWeightless || type == EdgeType::Dependency || type == EdgeType::Synchronization;
  return edges.emplace_back(GraphEdge{from, to, kNone, type, isOrder});
}

void CriticalGraph::synchronize(uint32_t from, uint32_t to) {
  if (m_synchronized.insert(uint64_t{from} << 32 | to).second) connect(from, to, EdgeType::Synchronization);
}

// networkx' dag_longest_path: nodes in generations of a topological order, the first of equally long predecessors, the
// first of equally distant ends. A node is reached by all its edges before it is looked at itself, so they can be
// followed forwards.
std::optional<std::vector<uint32_t>> CriticalGraph::longestPath() const {
  std::vector<uint32_t> begin(nodes.size() + 1), outgoing(edges.size()), waiting(nodes.size()), order;
  for (const GraphEdge& edge : edges) {
    ++begin[edge.from];
    ++waiting[edge.to];
  }
  for (uint32_t node = 0, sum = 0; node <= nodes.size(); ++node) begin[node] = sum += begin[node];
  // Backwards, so that each node's begin ends up at its first edge.
  for (auto edge = static_cast<uint32_t>(edges.size()); edge-- > 0;) outgoing[--begin[edges[edge].from]] = edge;
  order.reserve(nodes.size());
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    if (waiting[node] == 0) order.push_back(node);
  }
  std::vector<int64_t> distances(nodes.size());
  std::vector<uint32_t> by(nodes.size(), kNone);  // edge
  uint32_t last = kNone;
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t node = order[i];
    if (last == kNone || distances[node] > distances[last]) last = node;
    for (uint32_t at = begin[node]; at < begin[node + 1]; ++at) {
      const uint32_t edge = outgoing[at], to = edges[edge].to;
      const int64_t distance = distances[node] + std::max<int64_t>(0, weightOf(edges[edge]));
      if (by[to] == kNone || distance > distances[to] || (distance == distances[to] && edge < by[to])) {
        distances[to] = distance;
        by[to] = edge;
      }
      if (--waiting[to] == 0) order.push_back(to);
    }
  }
  if (order.size() < nodes.size()) return std::nullopt;
  std::vector<uint32_t> path;
  for (uint32_t edge = last == kNone ? kNone : by[last]; edge != kNone; edge = by[edges[edge].from]) {
    path.push_back(edge);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace plumb::hta
