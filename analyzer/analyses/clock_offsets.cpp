// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/clock_offsets.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/unknown_clocks.h"

namespace plumb {
namespace {

bool holdsRanksTogether(std::string_view operation) {
  return operation == "AllReduce" || operation == "AllGather" || operation == "ReduceScatter" ||
         operation == "AlltoAll" || operation == "AllToAll" || operation == "Barrier";
}

bool saysOfClocks(const CollectiveInstance& instance) {
  return holdsRanksTogether(instance.operation) && !instance.sharesKernel;
}

// Of the processes whose host is not known, by their index.
std::vector<std::vector<CollectiveStay>> staysOf(const std::unordered_map<ProcessId, size_t>& indices,
                                                 const std::vector<CollectiveInstance>& instances) {
  std::vector<std::vector<CollectiveStay>> stays(indices.size());
  if (indices.size() < 2) return stays;
  for (size_t i = 0; i < instances.size(); ++i) {
    if (!saysOfClocks(instances[i])) continue;
    for (const CollectiveMember& member : instances[i].members) {
      const auto index = indices.find(member.process);
      if (!member.device || index == indices.end()) continue;
      stays[index->second].push_back({i, member.device->start.ns(), member.device->end.ns()});
    }
  }
  return stays;
}

ClockOffset clockOfUnknown(const UnknownClock& unknown) {
  ClockOffset clock;
  clock.isHostKnown = false;
  clock.uncheckedCount = unknown.uncheckedCount;
  clock.impossibleCount = unknown.impossibleCount;
  if (unknown.uncheckedCount == 0) clock.agreement = unknown.agreement;
  return clock;
}

// Clocks that have no host's name are told apart by their ranks.
void nameUnknown(const Trace& trace, std::vector<ClockOffset>& clocks) {
  constexpr size_t kMostNamed = 8;
  for (ClockOffset& clock : clocks) {
    if (clock.isHostKnown) continue;
    std::string names;
    for (size_t i = 0; i < std::min(clock.processes.size(), kMostNamed); ++i) {
      const Process* process = trace.process(clock.processes[i]);
      const bool hasRank = process->rank.has_value();
      names +=
          fmt::format("{}{} {}", i == 0 ? "" : ", ", hasRank ? "rank" : "pid", process->rank.value_or(process->pid));
    }
    clock.host = fmt::format("not known ({}{})", names, clock.processes.size() > kMostNamed ? ", …" : "");
  }
}

// The member of each host that says most: the one with the shortest kernel.
using Shortest = std::unordered_map<size_t, const CollectiveMember*>;

std::string basisOfReference(const ClockOffset& clock) {
  const size_t count = clock.processes.size();
  if (clock.isHostKnown || count < 2) return "the reference";
  if (clock.isOneSession && clock.impossibleCount == 0) return "the reference; one session on one machine";
  std::string basis =
      clock.agreement
          ? "the reference; hosts not known: taken as one clock, as collectives' ends allow it"
          : fmt::format(
                "the reference; hosts not known: cannot say whether the clocks agree, because {} of {} processes "
                "share no collective with the first that would show it",
                clock.uncheckedCount, count);
  if (clock.impossibleCount > 0) {
    basis += fmt::format("; {} collectives end on a rank before another has arrived", clock.impossibleCount);
  }
  return basis;
}

}  // namespace

std::optional<Duration> clockBound(const std::vector<ClockOffset>& clocks, size_t index) {
  const ClockOffset& clock = clocks[index];
  const bool isTaken = index == 0 && !clock.isHostKnown && clock.processes.size() > 1;
  return isTaken ? clock.agreement : clock.error;
}

std::string clockBasis(const std::vector<ClockOffset>& clocks, size_t index) {
  const ClockOffset& clock = clocks[index];
  if (index == 0) return basisOfReference(clock);
  if (!clock.offset) return "cannot say: no collective joins the hosts";
  std::string basis =
      clock.isBound ? "bound by collectives' ends" : "spread of collectives' ends: no constant offset fits them all";
  if (clock.isHostKnown) return basis;
  return basis + (clocks[0].isHostKnown
                      ? "; host not known"
                      : "; hosts not known, but apart: collectives end before a rank on the other has arrived");
}

std::optional<Duration> clockCorrection(const ClockOffset& clock) {
  if (!clock.offset) return std::nullopt;
  const int64_t size = clock.offset->ns() < 0 ? -clock.offset->ns() : clock.offset->ns();
  return size > clock.error->ns() ? *clock.offset : Duration();
}

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

std::vector<ClockOffset> findClocks(const Trace& trace, std::vector<CollectiveInstance>& instances) {
  std::unordered_map<ProcessId, size_t> unknownIndex;
  for (const Process& process : trace.processes()) {
    if (process.host.empty()) unknownIndex.emplace(process.id, unknownIndex.size());
  }
  const std::vector<UnknownClock> unknown = clocksByCausality(staysOf(unknownIndex, instances));
  std::vector<size_t> unknownOf(unknownIndex.size());  // clock of each process whose host is not known
  for (size_t i = 0; i < unknown.size(); ++i) {
    for (const size_t process : unknown[i].processes) unknownOf[process] = i;
  }

  std::vector<ClockOffset> clocks;
  std::unordered_map<ProcessId, size_t> clockOf;
  std::vector<std::optional<size_t>> placeOf(unknown.size());
  for (const Process& process : trace.processes()) {
    size_t place = clocks.size();
    if (process.host.empty()) {
      const size_t mine = unknownOf[unknownIndex.at(process.id)];
      if (!placeOf[mine]) {
        placeOf[mine] = place;
        clocks.push_back(clockOfUnknown(unknown[mine]));
      }
      place = *placeOf[mine];
    } else {
      const auto known = std::ranges::find(clocks, process.host, &ClockOffset::host);
      place = static_cast<size_t>(known - clocks.begin());
      if (known == clocks.end()) clocks.emplace_back().host = process.host;
    }
    clocks[place].processes.push_back(process.id);
    clockOf[process.id] = place;
  }
  if (unknown.size() > 1) nameUnknown(trace, clocks);
  for (CollectiveInstance& instance : instances) {
    for (CollectiveMember& member : instance.members) {
      const auto clock = clockOf.find(member.process);
      member.clock = clock == clockOf.end() ? std::nullopt : std::optional(clock->second);
    }
  }
  return clocks;
}

void estimateClockOffsets(std::vector<ClockOffset>& clocks, const std::vector<CollectiveInstance>& instances) {
  if (clocks.empty()) return;
  clocks[0].offset = clocks[0].error = Duration();
  if (clocks.size() == 1) return;

  std::vector<std::vector<OffsetObservation>> observations(clocks.size());
  for (const CollectiveInstance& instance : instances) {
    if (!saysOfClocks(instance)) continue;
    Shortest shortest;
    for (const CollectiveMember& member : instance.members) {
      if (!member.device || !member.clock) continue;
      const CollectiveMember*& best = shortest[*member.clock];
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
}

}  // namespace plumb
