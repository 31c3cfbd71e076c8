// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis' critical path of one rank: the longest path of its graph, and what bounds it.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/hta/hta_critical_graph.h"

namespace plumb::hta {

// What an edge's time is spent on.
enum class BoundBy : uint8_t { Nothing, Cpu, GpuCommunication, GpuCompute, KernelDelay, LaunchDelay };
[[nodiscard]] const char* nameOf(BoundBy boundBy);  // "cpu_bound" …; "" for edges that only order

struct PathEdge {
  int64_t time = 0;   // us
  uint32_t name = 0;  // index into CriticalPath::names: of the event whose time it is; empty for those that only order
  EdgeType type = EdgeType::Operator;
  BoundBy boundBy = BoundBy::Nothing;
};

struct CriticalPath {
  ProcessId process;
  std::optional<int64_t> rank;
  bool isThere = true;  // the rank has what was asked for
  std::string problem;  // why there is no path; else empty
  size_t graphNodes = 0, graphEdges = 0;
  size_t nodes = 0, events = 0;  // of the path
  std::vector<PathEdge> edges;   // of the path
  std::vector<std::string> names;
  [[nodiscard]] const std::string& nameOf(const PathEdge& edge) const { return names[edge.name]; }
  [[nodiscard]] std::map<std::string, int64_t> timeBy() const;  // us, by what bounds it
};

// Where to look: HTA's annotation and instance_id; a step, counted from 0; or everything. Of that what begins from
// `from` on and before `to`.
struct Region {
  std::optional<Annotation> annotation;
  std::optional<int64_t> step;
  std::optional<TimePoint> from = {}, to = {};
};

[[nodiscard]] Result<std::vector<CriticalPath>> criticalPaths(Trace& trace, const Region& region,
                                                              std::optional<int64_t> rank);

}  // namespace plumb::hta
