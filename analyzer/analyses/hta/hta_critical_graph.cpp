// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_critical_graph.h"

#include <algorithm>

#include "analyzer/analyses/hta/hta_statistics.h"

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
  std::vector<GraphNode> ends;
  std::vector<double> times;
  for (const bool isStart : {true, false}) {
    for (size_t i = 0; i < events.size(); ++i) {
      if (!events[i].isNode) continue;
      ends.push_back({i, isStart ? events[i].ts : events[i].end, isStart});
      times.push_back(static_cast<double>(ends.back().ts));
    }
  }
  nodes.reserve(ends.size());
  for (const size_t index : sortOrder(times)) {
    const GraphNode& node = ends[index];
    (node.isStart ? events[node.event].startNode : events[node.event].endNode) = static_cast<uint32_t>(nodes.size());
    nodes.push_back(node);
  }
}

GraphEdge& CriticalGraph::connect(uint32_t from, uint32_t to, EdgeType type, bool isWeightless) {
  const bool hasNoTime = isWeightless || type == EdgeType::Dependency || type == EdgeType::Synchronization;
  const GraphEdge edge{from, to, type, hasNoTime ? 0 : nodes[to].ts - nodes[from].ts, std::nullopt};
  const auto [at, isNew] = m_edgeAt.emplace(uint64_t{from} << 32 | to, edges.size());
  if (isNew) edges.emplace_back();
  edges[at->second] = edge;
  return edges[at->second];
}

// networkx' dag_longest_path: nodes in generations of a topological order, the first of equally long predecessors, the
// first of equally distant ends.
std::optional<std::vector<size_t>> CriticalGraph::longestPath() const {
  std::vector<std::vector<size_t>> incoming(nodes.size()), outgoing(nodes.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    outgoing[edges[i].from].push_back(i);
    incoming[edges[i].to].push_back(i);
  }
  std::vector<size_t> waiting(nodes.size());
  std::vector<uint32_t> order;
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    waiting[node] = incoming[node].size();
    if (waiting[node] == 0) order.push_back(node);
  }
  struct Reach {
    int64_t distance = 0;
    std::optional<size_t> by;  // edge
  };
  std::vector<Reach> reached(nodes.size());
  std::optional<uint32_t> last;
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t node = order[i];
    Reach& mine = reached[node];
    for (const size_t edge : incoming[node]) {
      const int64_t distance = reached[edges[edge].from].distance + std::max<int64_t>(0, edges[edge].weight);
      if (!mine.by || distance > mine.distance) mine = {distance, edge};
    }
    if (!last || mine.distance > reached[*last].distance) last = node;
    for (const size_t edge : outgoing[node]) {
      if (--waiting[edges[edge].to] == 0) order.push_back(edges[edge].to);
    }
  }
  if (order.size() < nodes.size()) return std::nullopt;
  std::vector<size_t> path;
  for (std::optional<size_t> edge = last ? reached[*last].by : std::nullopt; edge;
       edge = reached[edges[*edge].from].by) {
    path.push_back(*edge);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace plumb::hta
