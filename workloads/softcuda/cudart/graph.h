// SPDX-License-Identifier: Apache-2.0
// Graphs and executable graphs by handle.
#pragma once
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workloads/softcuda/cudart/capture.h"

namespace softcuda {

struct Graph {
  using Edge = std::pair<const GraphNode*, const GraphNode*>;  // from, to

  uint64_t id = nextGraphId();
  std::mutex mutex;  // of what follows, until the graph is executable
  GraphNodes nodes;  // captured or executable: in an order that respects the edges
  std::vector<Edge> edges;

  bool contains(const GraphNode* node) const;
  // Adds an edge from each of the given nodes. False: one of them is not of this graph.
  bool link(const cudaGraphNode_t* from, std::size_t count, const GraphNode* to);
  // The nodes so that none comes before one that it depends on. Empty if that is not possible.
  GraphNodes ordered() const;
};

// A launched graph lives until its launches are done, whoever destroys it.
class GraphTable {
 public:
  void* add(std::shared_ptr<Graph> graph) {
    void* handle = graph.get();
    std::lock_guard lock(m_mutex);
    m_graphs.emplace(handle, std::move(graph));
    return handle;
  }
  std::shared_ptr<Graph> find(const void* handle) {
    std::shared_lock lock(m_mutex);
    const auto found = m_graphs.find(handle);
    return found == m_graphs.end() ? nullptr : found->second;
  }
  bool remove(const void* handle) {
    std::shared_ptr<Graph> removed;  // freed after the lock
    std::lock_guard lock(m_mutex);
    const auto found = m_graphs.find(handle);
    if (found == m_graphs.end()) return false;
    removed = std::move(found->second);
    m_graphs.erase(found);
    return true;
  }

 private:
  std::shared_mutex m_mutex;
  std::unordered_map<const void*, std::shared_ptr<Graph>> m_graphs;
};
GraphTable& graphs();
GraphTable& executables();

inline const GraphNode* nodeOf(cudaGraphNode_t handle) { return reinterpret_cast<const GraphNode*>(handle); }
inline cudaGraphNode_t handleOf(const GraphNode* node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(node));
}

}  // namespace softcuda
