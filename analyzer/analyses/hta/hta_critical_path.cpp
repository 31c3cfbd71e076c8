// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_critical_path.h"

#include <algorithm>
#include <limits>
#include <set>

namespace plumb::hta {
namespace {

// Its rule for this analysis: "^nccl.*Kernel".
bool isCommunication(std::string_view name) {
  return name.starts_with("nccl") && name.find("Kernel") != std::string_view::npos;
}

Result<std::optional<Period>> wholePeriodOf(Trace& trace, const Rank& rank, const Region& region) {
  if (region.annotation) return annotatedPeriod(trace, rank, *region.annotation);
  if (region.step) return stepPeriod(trace, rank, *region.step);
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
  return std::optional(Period{-kFar, kFar});
}

Result<std::optional<Period>> periodOf(Trace& trace, const Rank& rank, const Region& region) {
  auto period = wholePeriodOf(trace, rank, region);
  if (!period.ok() || !period.value()) return period;
  if (region.from) period.value()->start = std::max(period.value()->start, rounded(trace, region.from->ns(), 0).ts);
  if (region.to) period.value()->end = std::min(period.value()->end, rounded(trace, region.to->ns(), 0).ts - 1);
  return period;
}

void describe(Trace& trace, const Run& run, const Rank& rank, const CriticalGraph& graph, CriticalPath& path) {
  path.graphNodes = graph.nodes.size();
  path.graphEdges = graph.edges.size();
  const auto found = graph.longestPath();
  if (!found) {
    path.problem = "HolisticTraceAnalysis refuses this trace: its graph has a cycle";
    return;
  }
  if (found->empty()) {
    path.problem = "no operator, call or GPU work lies there";
    return;
  }
  std::set<size_t> events{graph.nodes[graph.edges[found->front()].from].event};
  for (const size_t index : *found) {
    const GraphEdge& edge = graph.edges[index];
    events.insert(graph.nodes[edge.to].event);
    PathEdge& mine = path.edges.emplace_back(PathEdge{edge.type, edge.weight, {}, ""});
    if (edge.type == EdgeType::LaunchDelay) mine.boundBy = "gpu_kernel_launch_overhead";
    if (edge.attributed) {
      const GraphEvent& event = graph.events[*edge.attributed];
      mine.name = event.work ? run.names[rank.work[*event.work].name] : std::string(trace.text(*event.hostName));
    }
    if (edge.type == EdgeType::KernelDelay) mine.boundBy = "gpu_kernel_kernel_overhead";
    if (edge.type != EdgeType::Operator) continue;
    const bool isOnGpu = edge.attributed && graph.events[*edge.attributed].stream >= 0;
    mine.boundBy = !isOnGpu                     ? "cpu_bound"
                   : isCommunication(mine.name) ? "gpu_communication_bound"
                                                : "gpu_compute_bound";
  }
  path.nodes = found->size() + 1;
  path.events = events.size();
}

}  // namespace

std::map<std::string, int64_t> CriticalPath::timeBy() const {
  std::map<std::string, int64_t> times;
  for (const PathEdge& edge : edges) times[edge.boundBy] += edge.time;
  return times;
}

Result<std::vector<CriticalPath>> criticalPaths(Trace& trace, const Region& region, std::optional<int64_t> rank) {
  Filter ranks;
  ranks.rank = rank;
  auto run = load(trace, ranks);
  if (!run.ok()) return run.error();
  std::vector<CriticalPath> paths;
  for (const Rank& one : run.value().ranks) {
    CriticalPath& path = paths.emplace_back();
    path.process = one.process;
    path.rank = one.rank;
    auto period = periodOf(trace, one, region);
    if (!period.ok()) return period.error();
    if (!period.value()) {
      path.isThere = false;
      path.problem = "the rank has no such range or step";
      continue;
    }
    auto host = loadHostEvents(trace, one);
    if (!host.ok()) return host.error();
    describe(trace, run.value(), one, buildGraph(trace, run.value(), one, host.value(), *period.value()), path);
  }
  return paths;
}

}  // namespace plumb::hta
