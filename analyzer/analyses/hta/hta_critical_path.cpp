// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_critical_path.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

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

// The names of a path's edges, each once.
class PathNames {
 public:
  struct Name {
    uint32_t index = 0;
    bool isCommunication = false;
  };
  PathNames(Trace& trace, const Run& run, const Rank& rank, std::vector<std::string>& names)
      : m_trace(trace), m_run(run), m_rank(rank), m_names(names) {
    m_names.emplace_back();  // of edges that have none
  }
  [[nodiscard]] Name of(const GraphEvent& event) {
    const int64_t id = event.isOnGpu ? m_rank.work[static_cast<size_t>(event.what)].name : event.what;
    const auto [known, isNew] = (event.isOnGpu ? m_ofWork : m_ofHost).emplace(id, Name());
    if (isNew) {
      const std::string_view text =
          event.isOnGpu ? std::string_view(m_run.names[static_cast<size_t>(id)]) : m_trace.text(StringId(id));
      known->second = {static_cast<uint32_t>(m_names.size()), isCommunication(text)};
      m_names.emplace_back(text);
    }
    return known->second;
  }

 private:
  Trace& m_trace;
  const Run& m_run;
  const Rank& m_rank;
  std::vector<std::string>& m_names;
  std::unordered_map<int64_t, Name> m_ofWork, m_ofHost;
};

BoundBy boundBy(EdgeType type, bool isOnGpu, bool isCommunication) {
  switch (type) {
    case EdgeType::LaunchDelay:
      return BoundBy::LaunchDelay;
    case EdgeType::KernelDelay:
      return BoundBy::KernelDelay;
    case EdgeType::Operator:
      return !isOnGpu ? BoundBy::Cpu : isCommunication ? BoundBy::GpuCommunication : BoundBy::GpuCompute;
    default:
      return BoundBy::Nothing;
  }
}

void describe(const CriticalGraph& graph, PathNames names, CriticalPath& path) {
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
  std::vector<bool> isOnPath(graph.events.size());
  const auto note = [&](uint32_t node) {
    auto event = isOnPath[graph.nodes[node].event];
    path.events += !event;
    event = true;
  };
  note(graph.edges[found->front()].from);
  path.edges.reserve(found->size());
  for (const uint32_t index : *found) {
    const GraphEdge& edge = graph.edges[index];
    note(edge.to);
    PathNames::Name name;
    bool isOnGpu = false;
    if (edge.attributed != kNone) {
      const GraphEvent& event = graph.events[edge.attributed];
      name = names.of(event);
      isOnGpu = event.isOnGpu;
    }
    path.edges.push_back(
        {graph.weightOf(edge), name.index, edge.type, boundBy(edge.type, isOnGpu, name.isCommunication)});
  }
  path.nodes = found->size() + 1;
}

}  // namespace

const char* nameOf(BoundBy boundBy) {
  static constexpr const char* kNames[] = {"",
                                           "cpu_bound",
                                           "gpu_communication_bound",
                                           "gpu_compute_bound",
                                           "gpu_kernel_kernel_overhead",
                                           "gpu_kernel_launch_overhead"};
  return kNames[static_cast<size_t>(boundBy)];
}

std::map<std::string, int64_t> CriticalPath::timeBy() const {
  std::map<BoundBy, int64_t> times;
  for (const PathEdge& edge : edges) times[edge.boundBy] += edge.time;
  std::map<std::string, int64_t> result;
  for (const auto& [boundBy, time] : times) result.emplace(hta::nameOf(boundBy), time);
  return result;
}

Result<std::vector<CriticalPath>> criticalPaths(Trace& trace, const Region& region, std::optional<int64_t> rank) {
  Filter ranks;
  ranks.rank = rank;
  auto run = load(trace, ranks);
  if (!run.ok()) return run.error();
  auto host = HostEvents::open(trace, run.value());
  if (!host.ok()) return host.error();
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
    const auto graph = buildGraph(trace, one, host.value(), *period.value());
    if (!graph.ok()) return graph.error();
    describe(graph.value(), PathNames(trace, run.value(), one, path.names), path);
  }
  return paths;
}

}  // namespace plumb::hta
