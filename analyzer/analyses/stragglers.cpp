// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stragglers.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/data_loading.h"
#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/recording_start.h"
#include "analyzer/analyses/straggler_places.h"

namespace plumb {
namespace {

constexpr size_t index(LatePhase phase) { return static_cast<size_t>(phase); }

// A process's time, each moment in one phase only; what is in none is launch.
using PhaseSets = std::array<IntervalSet, kLatePhaseCount - 1>;

Result<std::unordered_map<ProcessId, PhaseSets>> loadPhases(Trace& trace) {
  auto activities = loadGpuActivity(trace);
  if (!activities.ok()) return activities.error();
  auto loading = loadDataLoading(trace);
  if (!loading.ok()) return loading.error();
  std::unordered_map<ProcessId, PhaseSets> result;
  for (const GpuActivity& activity : activities.value()) {
    PhaseSets& sets = result[activity.process];
    const std::pair<LatePhase, const IntervalSet*> parts[] = {{LatePhase::Compute, &activity.compute},
                                                              {LatePhase::PreviousCollective, &activity.communication},
                                                              {LatePhase::Copies, &activity.memory}};
    for (const auto& [phase, set] : parts) sets[index(phase)] = unite(sets[index(phase)], *set);
  }
  for (auto& [process, sets] : result) {
    IntervalSet before = sets[0];
    sets[index(LatePhase::DataLoading)] = std::move(loading.value()[process]);
    for (size_t i = 1; i < sets.size(); ++i) {
      IntervalSet whole = unite(before, sets[i]);
      sets[i] = subtract(sets[i], before);
      before = std::move(whole);
    }
  }
  return result;
}

// The last two collectives of a communicator: those of one group share a kernel and begin at once, so the one before
// them is what they are compared from.
struct Previous {
  const CollectiveInstance* last = nullptr;
  const CollectiveInstance* before = nullptr;

  [[nodiscard]] const CollectiveInstance* of(const CollectiveInstance& instance) const {
    return last && sameKernel(*last, instance) ? before : last;
  }
  void follow(const CollectiveInstance& instance) {
    if (!last || !sameKernel(*last, instance)) before = last;
    last = &instance;
  }

 private:
  static bool sameKernel(const CollectiveInstance& a, const CollectiveInstance& b) {
    const CollectiveMember &first = a.members.front(), &second = b.members.front();
    return first.process == second.process && first.kernel && first.kernel == second.kernel;
  }
};

TimeByPhase timesOf(const CollectiveMember& member, TimePoint begin, TimePoint base,
                    const std::unordered_map<ProcessId, PhaseSets>& phases) {
  // In the member's own clock.
  const Interval window{std::min(begin, member.device->start), member.device->start};
  TimeByPhase times;
  Duration rest = window.length();
  if (const auto sets = phases.find(member.process); sets != phases.end()) {
    for (size_t i = 0; i < sets->second.size(); ++i) {
      times[i] = sets->second[i].lengthWithin(window);
      rest -= times[i];
    }
  }
  times[index(LatePhase::Launch)] = rest;
  times[index(LatePhase::PreviousCollective)] += (window.start - member.clockOffset) - base;
  return times;
}

std::optional<Lateness> explain(const CollectiveInstance& instance, const CollectiveInstance* previous,
                                const std::unordered_map<ProcessId, PhaseSets>& phases) {
  if (!instance.skew || instance.skew->ns() == 0 || !previous) return std::nullopt;
  std::vector<TimePoint> begins;
  TimePoint base = instance.members.front().arrival();
  for (const CollectiveMember& member : instance.members) {
    const auto there = std::ranges::find(previous->members, member.process, &CollectiveMember::process);
    if (there == previous->members.end()) return std::nullopt;
    begins.push_back(there->device->end);
    base = std::min(base, std::min(there->device->end, member.device->start) - member.clockOffset);
  }
  Lateness lateness;
  const int64_t others = static_cast<int64_t>(instance.members.size()) - 1;
  for (size_t i = 0; i < instance.members.size(); ++i) {
    lateness.causedWait += instance.members[i].wait;
    const CollectiveMember& member = instance.members[i];
    const TimeByPhase times = timesOf(member, begins[i], base, phases);
    if (i == instance.lastArrival) lateness.window = {std::min(begins[i], member.device->start), member.device->start};
    for (size_t phase = 0; phase < kLatePhaseCount; ++phase) {
      if (i == instance.lastArrival) {
        lateness.parts[phase] += Duration(others * times[phase].ns());
      } else {
        lateness.parts[phase] -= times[phase];
      }
    }
  }
  return lateness;
}

// Indices of the instances with a transfer: collectives of one communicator run one after the other; across ranks they
// are in order of their last arrival.
std::vector<size_t> measuredInOrder(const CollectiveAnalysis& analysis) {
  std::vector<size_t> order;
  for (size_t i = 0; i < analysis.instances.size(); ++i) {
    if (analysis.instances[i].transfer) order.push_back(i);
  }
  const auto lastArrival = [&](size_t i) {
    const CollectiveInstance& instance = analysis.instances[i];
    return instance.members[instance.lastArrival].arrival();
  };
  std::ranges::stable_sort(order, {}, lastArrival);
  return order;
}

LatePhase largest(const TimeByPhase& parts) {
  return static_cast<LatePhase>(std::ranges::max_element(parts) - parts.begin());
}

}  // namespace

std::string_view nameOf(LatePhase phase) {
  static constexpr std::array<std::string_view, kLatePhaseCount> kNames = {"compute", "previous collective", "copies",
                                                                           "data loading", "launch"};
  return kNames[index(phase)];
}

LatePhase Lateness::phase() const { return largest(parts); }

std::optional<LatePhase> RankLateness::phase() const {
  if (causedWait == unexplained + recordingLater) return std::nullopt;
  return largest(parts);
}

Result<std::vector<std::optional<Lateness>>> explainLateness(Trace& trace, const CollectiveAnalysis& analysis) {
  std::vector<std::optional<Lateness>> result(analysis.instances.size());
  const bool any = std::ranges::any_of(analysis.instances, [](const auto& i) { return i.skew && i.skew->ns() > 0; });
  if (!any) return result;
  auto phases = loadPhases(trace);
  if (!phases.ok()) return phases.error();
  std::map<int64_t, Previous> previous;  // by communicator
  for (const size_t i : measuredInOrder(analysis)) {
    const CollectiveInstance& instance = analysis.instances[i];
    Previous& before = previous[instance.communicatorHash];
    result[i] = explain(instance, before.of(instance), phases.value());
    before.follow(instance);
  }
  return result;
}

std::vector<Duration> waitsForRecording(Trace& trace, const CollectiveAnalysis& analysis) {
  std::vector<Duration> result(analysis.instances.size());
  std::set<ProcessId> met;
  for (const size_t i : measuredInOrder(analysis)) {
    const CollectiveInstance& instance = analysis.instances[i];
    if (instance.members.size() < 2) continue;
    const bool isFirst =
        std::ranges::none_of(instance.members, [&](const auto& member) { return met.contains(member.process); });
    for (const CollectiveMember& member : instance.members) met.insert(member.process);
    if (!isFirst) continue;
    const auto recorded = [&](const CollectiveMember& member) -> std::optional<Duration> {
      const Process* process = trace.process(member.process);
      if (!process) return std::nullopt;
      return member.device->start - process->start;
    };
    const auto late = recorded(instance.members[instance.lastArrival]);
    for (const CollectiveMember& member : instance.members) {
      const auto own = recorded(member);
      if (own && late) result[i] += waitForRecording(member.wait, *own, *late);
    }
  }
  return result;
}

Result<std::vector<RankLateness>> findStragglers(Trace& trace, const CollectiveAnalysis& analysis) {
  auto explained = explainLateness(trace, analysis);
  if (!explained.ok()) return explained.error();
  const std::vector<Duration> forRecording = waitsForRecording(trace, analysis);
  std::map<ProcessId, RankLateness> ranks;
  for (size_t i = 0; i < analysis.instances.size(); ++i) {
    const CollectiveInstance& instance = analysis.instances[i];
    if (!instance.transfer || !instance.isInFilter) continue;
    Duration caused;
    for (const CollectiveMember& member : instance.members) {
      RankLateness& rank = ranks[member.process];
      rank.process = member.process;
      rank.rank = member.rank;
      ++rank.instanceCount;
      rank.waited += member.wait;
      caused += member.wait;
    }
    if (instance.skew->ns() == 0) continue;
    RankLateness& straggler = ranks[instance.members[instance.lastArrival].process];
    ++straggler.lastCount;
    straggler.causedWait += caused;
    if (!explained.value()[i]) {
      straggler.recordingLater += forRecording[i];
      straggler.unexplained += caused - forRecording[i];
      continue;
    }
    for (size_t phase = 0; phase < kLatePhaseCount; ++phase) {
      straggler.parts[phase] += explained.value()[i]->parts[phase];
    }
  }
  if (const Status found = findPlaces(trace, analysis, explained.value(), ranks); !found.ok()) return found.error();
  std::vector<RankLateness> result;
  for (auto& [process, rank] : ranks) result.push_back(std::move(rank));
  std::ranges::stable_sort(result, std::greater{},
                           [](const RankLateness& rank) { return rank.causedWait - rank.recordingLater; });
  return result;
}

}  // namespace plumb
