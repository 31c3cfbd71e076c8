// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis' graph of what waits for what in a rank: a node for the start and the end of each operator,
// call and piece of GPU work, an edge for time that passes or order that must hold. Built as it builds it, so that its
// longest path is the same among equally long ones.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/hta/hta_host_events.h"

namespace plumb::hta {

enum class EdgeType : uint8_t { Operator, Dependency, LaunchDelay, KernelDelay, Synchronization };
[[nodiscard]] const char* nameOf(EdgeType type);  // "critical_path_operator" …

// One event of the graph, of the host or of the GPU.
struct GraphEvent {
  int64_t ts = 0, end = 0;  // us
  int64_t stream = -1;      // -1: the host's
  std::optional<StringId> hostName;
  std::optional<size_t> work;  // index into Rank::work
  bool isBlocking = false;     // a call that waits for the GPU: the wait itself weighs nothing
  uint32_t startNode = 0, endNode = 0;
  bool isNode = false;
};

struct GraphNode {
  size_t event = 0;  // index into CriticalGraph::events
  int64_t ts = 0;
  bool isStart = false;
};

struct GraphEdge {
  uint32_t from = 0, to = 0;
  EdgeType type = EdgeType::Operator;
  int64_t weight = 0;                // us; can be negative where a child outlasts its parent
  std::optional<size_t> attributed;  // index into CriticalGraph::events: whose time it is
};

class CriticalGraph {
 public:
  std::vector<GraphEvent> events;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;  // one per pair of nodes, in the order of their first appearance

  // A second edge between the same nodes takes the first one's place.
  GraphEdge& connect(uint32_t from, uint32_t to, EdgeType type, bool isWeightless = false);
  // The nodes in order of time, and which are an event's.
  void numberNodes();
  // Edges; none when the graph has a cycle.
  [[nodiscard]] std::optional<std::vector<size_t>> longestPath() const;

 private:
  std::unordered_map<uint64_t, size_t> m_edgeAt;
};

// What HTA looks at: the host's events that begin in the period and last, and the GPU work that they launched.
[[nodiscard]] CriticalGraph buildGraph(Trace& trace, const Run& run, const Rank& rank,
                                       const std::vector<HostEvent>& host, Period period);

}  // namespace plumb::hta
