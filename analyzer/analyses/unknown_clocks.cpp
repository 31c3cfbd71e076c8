// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/unknown_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <unordered_map>
#include <utility>

namespace plumb {
namespace {

// Profilers of two processes of one host convert the device's times each for itself and differ by some microseconds.
constexpr int64_t kToleranceNs = 20'000;
// Where no constant offset fits all collectives, some may be matched wrongly: so many have to say the same.
constexpr int64_t kOneIn = 5;

struct Stay {
  int64_t latestStartNs, earliestEndNs;
};

struct Group {
  UnknownClock clock;
  std::unordered_map<size_t, Stay> stays;  // by instance

  void take(size_t process, const std::vector<CollectiveStay>& mine) {
    clock.processes.push_back(process);
    for (const CollectiveStay& stay : mine) {
      const auto [known, isNew] = stays.try_emplace(stay.instance, Stay{stay.startNs, stay.endNs});
      if (isNew) continue;
      known->second.latestStartNs = std::max(known->second.latestStartNs, stay.startNs);
      known->second.earliestEndNs = std::min(known->second.earliestEndNs, stay.endNs);
    }
  }
};

// What their common collectives say of a process's clock against a group's.
struct Relation {
  int64_t lowestNs = std::numeric_limits<int64_t>::min(), highestNs = std::numeric_limits<int64_t>::max();
  int64_t count = 0, earlier = 0, later = 0;  // common ones; those in which the process's clock must be behind, ahead

  void take(int64_t lowNs, int64_t highNs) {
    ++count;
    lowestNs = std::max(lowestNs, lowNs);
    highestNs = std::min(highestNs, highNs);
    earlier += highNs < -kToleranceNs;
    later += lowNs > kToleranceNs;
  }
  [[nodiscard]] bool areApart() const {
    if (lowestNs <= highestNs) return earlier + later > 0;
    return std::max(earlier, later) * kOneIn > count;
  }
  [[nodiscard]] Duration bound() const { return Duration(std::max(std::abs(lowestNs), std::abs(highestNs))); }
};

Relation relationOf(const std::vector<CollectiveStay>& process, const Group& group) {
  Relation relation;
  for (const CollectiveStay& mine : process) {
    const auto theirs = group.stays.find(mine.instance);
    if (theirs == group.stays.end()) continue;
    relation.take(mine.startNs - theirs->second.earliestEndNs, mine.endNs - theirs->second.latestStartNs);
  }
  return relation;
}

// Processes that collectives join, each behind one that it shares a collective with.
std::vector<std::vector<size_t>> joinedProcesses(const std::vector<std::vector<CollectiveStay>>& stays) {
  std::unordered_map<size_t, std::vector<size_t>> processesOf;  // by instance, until it is followed
  for (size_t process = 0; process < stays.size(); ++process) {
    for (const CollectiveStay& stay : stays[process]) processesOf[stay.instance].push_back(process);
  }
  std::vector<std::vector<size_t>> joined;
  std::vector<bool> isReached(stays.size());
  for (size_t first = 0; first < stays.size(); ++first) {
    if (isReached[first]) continue;
    isReached[first] = true;
    std::vector<size_t> order{first};
    for (size_t next = 0; next < order.size(); ++next) {
      for (const CollectiveStay& stay : stays[order[next]]) {
        for (const size_t other : std::exchange(processesOf[stay.instance], {})) {
          if (isReached[other]) continue;
          isReached[other] = true;
          order.push_back(other);
        }
      }
    }
    joined.push_back(std::move(order));
  }
  return joined;
}

std::vector<Group> groupsOf(const std::vector<size_t>& processes,
                            const std::vector<std::vector<CollectiveStay>>& stays) {
  std::vector<Group> groups;
  for (const size_t process : processes) {
    Group* home = nullptr;
    for (Group& group : groups) {
      const Relation relation = relationOf(stays[process], group);
      if (relation.count == 0 || relation.areApart()) continue;
      group.clock.agreement = std::max(group.clock.agreement.value_or(Duration()), relation.bound());
      group.clock.impossibleCount += relation.earlier + relation.later;
      home = &group;
      break;
    }
    if (home == nullptr) home = &groups.emplace_back();
    home->take(process, stays[process]);
  }
  return groups;
}

}  // namespace

std::vector<UnknownClock> clocksByCausality(const std::vector<std::vector<CollectiveStay>>& stays) {
  std::vector<UnknownClock> clocks;
  for (const std::vector<size_t>& joined : joinedProcesses(stays)) {
    std::vector<Group> groups = groupsOf(joined, stays);
    for (size_t i = 0; i < groups.size(); ++i) {
      UnknownClock& clock = groups[i].clock;
      if (i > 0 || clocks.empty()) {
        clocks.push_back(std::move(clock));
        continue;
      }
      // No collective joins these with the first ones: nothing speaks against their clock, and nothing for it.
      UnknownClock& first = clocks.front();
      first.uncheckedCount += static_cast<int64_t>(clock.processes.size());
      first.impossibleCount += clock.impossibleCount;
      first.processes.insert(first.processes.end(), clock.processes.begin(), clock.processes.end());
    }
  }
  return clocks;
}

}  // namespace plumb
