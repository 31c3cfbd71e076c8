// SPDX-License-Identifier: Apache-2.0
// Nested spans of host threads (NVTX ranges, library calls): who is inside whom, and what the GPU did for each. A node
// is the child of the innermost earlier one of its thread that holds it whole; one that sticks out of its neighbour is
// its sibling. What lasts to an unknown end reaches until a node of the same or a lesser depth begins.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/ids.h"
#include "analyzer/trace/time.h"

namespace plumb {

struct HostNode {
  int64_t track = 0;    // nodes of different tracks never nest: a thread
  Interval time;        // of an open node: to kAllTime's end when the forest is made
  int64_t depth = 0;    // as recorded: decides between nodes that begin together
  int64_t payload = 0;  // the caller's
  bool isOpen = false;  // its end is not known
  int32_t parent = -1;  // set by the forest: index, smaller than its own
  Duration covered;     // set by the forest: part of `time` that its children cover
};

// A piece of GPU work and the host call that launched it.
struct Projected {
  int64_t track = 0;
  Interval call, gpu;
};

// The GPU's side of a node: of the work whose call lies inside it on its track.
struct Projection {
  int64_t count = 0;
  Interval hull;   // from the first start to the last end
  Duration total;  // sum of the durations
  Duration busy;   // union
};

class HostForest {
 public:
  HostForest() = default;
  // Any order.
  explicit HostForest(std::vector<HostNode> nodes);

  // By track, start, depth, longest first: a parent comes before its children.
  [[nodiscard]] const std::vector<HostNode>& nodes() const { return m_nodes; }
  // The innermost node that holds the whole call. O(log n), and a step for each level.
  [[nodiscard]] std::optional<size_t> innermost(int64_t track, Interval call) const;
  // One per node. Sorts the work. inclusive: with the work of the nodes inside; else of the innermost only.
  [[nodiscard]] std::vector<Projection> project(std::span<const Projected> work, bool inclusive = true) const;

 private:
  struct Change {  // from `time` on the innermost node is `node` (-1: none)
    TimePoint time;
    int32_t node;
  };
  void nest(size_t begin, size_t end);

  std::vector<HostNode> m_nodes;
  std::unordered_map<int64_t, std::vector<Change>> m_innermost;  // by track
};

// Splits nodes into groups in which each nests properly with the others of its track: for ranges that may overlap in
// any way. The groups are few when overlaps are.
[[nodiscard]] std::vector<std::vector<HostNode>> splitIntoNested(std::vector<HostNode> nodes);

}  // namespace plumb
