// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis' graph of what waits for what in a rank: a node for the start and the end of each operator,
// call and piece of GPU work, an edge for time that passes or order that must hold. Built as it builds it, so that its
// longest path is the same among equally long ones.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "analyzer/analyses/hta/hta_host_events.h"

namespace plumb::hta {

enum class EdgeType : uint8_t { Operator, Dependency, LaunchDelay, KernelDelay, Synchronization };
[[nodiscard]] const char* nameOf(EdgeType type);  // "critical_path_operator" …

inline constexpr uint32_t kNone = static_cast<uint32_t>(-1);  // no index

// One event of the graph, of the host or of the GPU.
struct GraphEvent {
  int64_t ts = 0, end = 0;                      // us
  int64_t what = 0;                             // of the GPU: index into Rank::work; of the host: StringId of its name
  uint32_t startNode = kNone, endNode = kNone;  // kNone: the event only stands around others
  bool isOnGpu = false;
  bool isBlocking = false;  // a call that waits for the GPU: the wait itself weighs nothing
  bool isNode = false;
};

struct GraphNode {
  int64_t ts = 0;
  uint32_t event = 0;  // index into CriticalGraph::events
  bool isStart = false;
};

struct GraphEdge {
  uint32_t from = 0, to = 0;
  uint32_t attributed = kNone;  // index into CriticalGraph::events: whose time it is
  EdgeType type = EdgeType::Operator;
  bool isWeightless = false;  // only an order
};

class CriticalGraph {
 public:
  std::vector<GraphEvent> events;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;  // one per pair of nodes, in the order of their first appearance

  // The caller connects each pair of nodes once.
  GraphEdge& connect(uint32_t from, uint32_t to, EdgeType type, bool isWeightless = false);
  // Of any number between the same nodes the first one stays: they are all alike.
  void synchronize(uint32_t from, uint32_t to);
  // us; can be negative where a child outlasts its parent
  [[nodiscard]] int64_t weightOf(const GraphEdge& edge) const {
    return edge.isWeightless ? 0 : nodes[edge.to].ts - nodes[edge.from].ts;
  }
  // The nodes in order of time, and which are an event's.
  void numberNodes();
  // Indices of edges; none when the graph has a cycle.
  [[nodiscard]] std::optional<std::vector<uint32_t>> longestPath() const;

 private:
  std::unordered_set<uint64_t> m_synchronized;
};

// What HTA looks at: the host's events that begin in the period and last, and the GPU work that they launched.
[[nodiscard]] Result<CriticalGraph> buildGraph(Trace& trace, const Rank& rank, const HostEvents& host, Period period);

}  // namespace plumb::hta
