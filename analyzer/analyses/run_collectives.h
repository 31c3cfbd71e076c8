// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a run meet: their clocks, and the collectives that they were in together.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/first_by_key.h"
#include "analyzer/analyses/run_activities.h"

namespace plumb {

class RunCollectives {
 public:
  using Transfers = std::unordered_map<ActivityGraph::Activity, ActivityGraph::Activity>;

  [[nodiscard]] static Result<RunCollectives> load(Trace& trace);
  // What is taken off the process's times; none: nothing says how far its clock is from that of the first.
  [[nodiscard]] std::optional<Duration> correctionOf(ProcessId process) const;
  [[nodiscard]] std::vector<std::string> takeStatements() { return std::move(m_statements); }

  // Kernels of collectives become arrivals and transfers that depend on every arrival. By record; those without one by
  // their names (named_collectives.h). Gives the transfer of each. Requires that the graph is by one clock.
  [[nodiscard]] Transfers split(RunActivities& run, const FirstByKey<KernelId, ActivityGraph::Activity>& kernels) const;

 private:
  struct Clock {
    size_t index;
    std::optional<Duration> correction;
  };
  // At least as many took part in a collective that only its kernels' names tell.
  [[nodiscard]] size_t rankCount(const RunActivities& run) const;

  CollectiveAnalysis m_analysis;
  size_t m_worldSize = 0;
  std::map<ProcessId, Clock> m_clocks;
  std::vector<std::string> m_statements;
};

}  // namespace plumb
