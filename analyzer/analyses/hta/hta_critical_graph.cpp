// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_critical_graph.h"

#include <algorithm>
#include <span>

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
  edges.reserve(ends.size() * 2);
  m_edgeAt.reserve(ends.size() * 2);
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

namespace {

// The edges at each node, in their order.
class EdgesByNode {
 public:
  EdgesByNode(const std::vector<GraphEdge>& edges, size_t nodeCount, uint32_t GraphEdge::*end)
      : m_begin(nodeCount + 1), m_edges(edges.size()) {
    for (const GraphEdge& edge : edges) ++m_begin[edge.*end + 1];
    for (size_t node = 0; node < nodeCount; ++node) m_begin[node + 1] += m_begin[node];
    std::vector<size_t> next(m_begin.begin(), m_begin.end() - 1);
    for (size_t i = 0; i < edges.size(); ++i) m_edges[next[edges[i].*end]++] = i;
  }
  [[nodiscard]] std::span<const size_t> of(uint32_t node) const {
    return std::span(m_edges).subspan(m_begin[node], m_begin[node + 1] - m_begin[node]);
  }

 private:
  std::vector<size_t> m_begin, m_edges;
};

}  // namespace

// networkx' dag_longest_path: nodes in generations of a topological order, the first of equally long predecessors, the
// first of equally distant ends.
std::optional<std::vector<size_t>> CriticalGraph::longestPath() const {
  const EdgesByNode incoming(edges, nodes.size(), &GraphEdge::to), outgoing(edges, nodes.size(), &GraphEdge::from);
  std::vector<size_t> waiting(nodes.size());
  std::vector<uint32_t> order;
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    waiting[node] = incoming.of(node).size();
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
    for (const size_t edge : incoming.of(node)) {
      const int64_t distance = reached[edges[edge].from].distance + std::max<int64_t>(0, edges[edge].weight);
      if (!mine.by || distance > mine.distance) mine = {distance, edge};
    }
    if (!last || mine.distance > reached[*last].distance) last = node;
    for (const size_t edge : outgoing.of(node)) {
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
