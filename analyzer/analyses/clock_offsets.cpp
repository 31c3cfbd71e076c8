// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/clock_offsets.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace plumb {
namespace {

bool holdsRanksTogether(std::string_view operation) {
  return operation == "AllReduce" || operation == "AllGather" || operation == "ReduceScatter" ||
         operation == "AlltoAll" || operation == "AllToAll" || operation == "Barrier";
}

// The member of each host that says most: the one with the shortest kernel.
using Shortest = std::unordered_map<size_t, const CollectiveMember*>;

}  // namespace

void combineObservations(std::vector<OffsetObservation> observations, ClockOffset& clock) {
  clock.instanceCount = static_cast<int64_t>(observations.size());
  std::ranges::sort(observations, {}, &OffsetObservation::differenceNs);
  const int64_t median = observations[observations.size() / 2].differenceNs;
  int64_t lowest = observations[0].lowestNs, highest = observations[0].highestNs;
  for (const OffsetObservation& one : observations) {
    lowest = std::max(lowest, one.lowestNs);
    highest = std::min(highest, one.highestNs);
  }
  clock.isBound = lowest <= highest;
  if (clock.isBound) {
    const int64_t offset = std::clamp(median, lowest, highest);
    clock.offset = Duration(offset);
    clock.error = Duration(std::max(offset - lowest, highest - offset));
    return;
  }
  const size_t few = observations.size() / 20;
  clock.offset = Duration(median);
  clock.error =
      Duration((observations[observations.size() - 1 - few].differenceNs - observations[few].differenceNs + 1) / 2);
}

std::vector<ClockOffset> estimateClockOffsets(const Trace& trace, const std::vector<CollectiveInstance>& instances) {
  std::vector<ClockOffset> clocks;
  std::unordered_map<ProcessId, size_t> hostOf;
  for (const Process& process : trace.processes()) {
    auto clock = std::ranges::find(clocks, process.host, &ClockOffset::host);
    if (clock == clocks.end()) clock = clocks.insert(clocks.end(), ClockOffset{process.host, {}, {}});
    ++clock->processCount;
    hostOf[process.id] = static_cast<size_t>(clock - clocks.begin());
  }
  if (clocks.empty()) return clocks;
  clocks[0].offset = clocks[0].error = Duration();
  if (clocks.size() == 1) return clocks;

  std::vector<std::vector<OffsetObservation>> observations(clocks.size());
  for (const CollectiveInstance& instance : instances) {
    if (!holdsRanksTogether(instance.operation) || instance.sharesKernel) continue;
    Shortest shortest;
    for (const CollectiveMember& member : instance.members) {
      const auto host = hostOf.find(member.process);
      if (!member.device || host == hostOf.end()) continue;
      const CollectiveMember*& best = shortest[host->second];
      if (!best || member.device->length() < best->device->length()) best = &member;
    }
    const auto reference = shortest.find(0);
    if (reference == shortest.end()) continue;
    const Interval& there = *reference->second->device;
    for (const auto& [host, member] : shortest) {
      if (host == 0) continue;
      const int64_t difference = (member->device->end - there.end).ns();
      observations[host].push_back(
          {difference, difference - member->device->length().ns(), difference + there.length().ns()});
    }
  }
  for (size_t host = 1; host < clocks.size(); ++host) {
    if (!observations[host].empty()) combineObservations(std::move(observations[host]), clocks[host]);
  }
  return clocks;
}

}  // namespace plumb
