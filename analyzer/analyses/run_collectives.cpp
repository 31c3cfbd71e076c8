// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/run_collectives.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analyzer/analyses/clock_offsets.h"
#include "analyzer/analyses/clock_statements.h"
#include "analyzer/analyses/named_collectives.h"

namespace plumb {
namespace {

using Activity = ActivityGraph::Activity;

void splitKernels(RunActivities& run, const std::vector<Activity>& kernels, PeerBasis basis,
                  RunCollectives::Transfers& transfers) {
  TimePoint lastArrival = run.graph.time(kernels.front()).start;
  for (const Activity kernel : kernels) lastArrival = std::max(lastArrival, run.graph.time(kernel).start);
  const size_t first = run.info.size();
  for (const Activity kernel : kernels) {
    const Interval time = run.graph.time(kernel);
    ActivityInfo info = run.info[kernel];
    info.kind = ActivityKind::Transfer;
    run.info.push_back(info);
    const Activity transfer = run.graph.add({std::clamp(lastArrival, time.start, time.end), time.end});
    run.graph.becomeArrival(kernel, transfer);
    run.info[kernel].kind = ActivityKind::Arrival;
    run.peers[kernel] = run.peers[transfer] = basis;
    transfers.emplace(kernel, transfer);
  }
  for (size_t transfer = first; transfer < run.info.size(); ++transfer) {
    for (const Activity kernel : kernels) run.graph.depend(static_cast<Activity>(transfer), kernel);
  }
}

bool isUnmatched(const RunActivities& run, Activity activity) {
  const ActivityInfo& info = run.info[activity];
  return info.kind == ActivityKind::Work && info.work == GpuEventKind::Communication &&
         info.table == WorkKind::Kernel && run.peersOf(activity) == PeerBasis::None;
}

}  // namespace

Result<RunCollectives> RunCollectives::load(Trace& trace) {
  RunCollectives result;
  auto analysis = analyzeCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  result.m_analysis = std::move(analysis).value();
  const std::vector<ClockOffset>& clocks = result.m_analysis.clocks;
  for (size_t i = 0; i < clocks.size(); ++i) {
    for (const ProcessId process : clocks[i].processes) result.m_clocks[process] = {i, clockCorrection(clocks[i])};
  }
  for (const Process& process : trace.processes()) {
    result.m_worldSize =
        std::max(result.m_worldSize, static_cast<size_t>(std::max<int64_t>(process.worldSize.value_or(0), 0)));
  }
  auto statements = sayClocks(trace, clocks);
  if (!statements.ok()) return statements.error();
  for (ClockStatement& one : statements.value()) {
    if (one.state == ClockState::Apart) one.message += " The critical path is that of the others; --rank shows theirs.";
    result.m_statements.push_back(std::move(one.message));
  }
  return result;
}

std::optional<Duration> RunCollectives::correctionOf(ProcessId process) const {
  const auto clock = m_clocks.find(process);
  return clock == m_clocks.end() ? std::nullopt : clock->second.correction;
}

size_t RunCollectives::rankCount(const RunActivities& run) const {
  std::set<uint32_t> devices;
  for (Activity i = 0; i < run.graph.size(); ++i) {
    if (isUnmatched(run, i)) devices.insert(run.info[i].place);
  }
  return std::max(devices.size(), m_worldSize);
}

RunCollectives::Transfers RunCollectives::split(RunActivities& run,
                                                const FirstByKey<KernelId, Activity>& kernels) const {
  Transfers transfers;
  for (const CollectiveInstance& instance : m_analysis.instances) {
    std::vector<Activity> met;
    for (const CollectiveMember& member : instance.members) {
      const Activity* kernel = member.kernel ? kernels.find(*member.kernel) : nullptr;
      if (kernel && run.info[*kernel].kind == ActivityKind::Work) met.push_back(*kernel);
    }
    const bool isWhole = static_cast<int64_t>(met.size()) == instance.rankCount;
    if (met.size() > 1) splitKernels(run, met, isWhole ? PeerBasis::Records : PeerBasis::SomeRecords, transfers);
    if (met.size() == 1) run.peers[met.front()] = PeerBasis::SomeRecords;
  }

  std::map<std::pair<size_t, StringId>, std::vector<NamedKernel>> named;  // by clock and name
  for (Activity i = 0; i < run.graph.size(); ++i) {
    const ActivityInfo& info = run.info[i];
    const auto clock = isUnmatched(run, i) ? m_clocks.find(run.placeOf(i).process) : m_clocks.end();
    if (clock != m_clocks.end()) named[{clock->second.index, info.name}].push_back({run.graph.time(i), info.place, i});
  }
  const size_t ranks = rankCount(run);
  for (auto& [key, ofName] : named) {
    forEachNamedCollective(std::move(ofName), [&](std::span<const NamedKernel> together) {
      std::vector<Activity> met;
      for (const NamedKernel& one : together) met.push_back(static_cast<Activity>(one.index));
      if (met.size() > 1) {
        splitKernels(run, met, met.size() < ranks ? PeerBasis::SomeNames : PeerBasis::Names, transfers);
      }
    });
  }
  return transfers;
}

}  // namespace plumb
