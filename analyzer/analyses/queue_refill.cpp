// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/queue_refill.h"

#include <algorithm>
#include <map>

#include "analyzer/analyses/launch_times.h"

namespace plumb {
namespace {

class Charger {
 public:
  Charger(const DeviceIdle& device, const LaunchIndex& launches, std::vector<LeadOfWait>& waits)
      : m_device(device), m_launches(launches), m_waits(waits) {
    for (const DeviceEvent& event : device.timeline.events) {
      if (const Launch* launch = launchOf(event)) m_starts[launch->thread].push_back(launch->start);
    }
    for (auto& [thread, starts] : m_starts) std::ranges::sort(starts);
  }

  void charge() {
    auto part = m_device.ofWaits.begin();
    size_t next = 0;
    for (const IdleGap& gap : m_device.gaps) {
      Duration late = lateOf(IdleCause::LaunchBound, gap) + lateOf(IdleCause::Unknown, gap);
      for (; part != m_device.ofWaits.end() && part->time.start < gap.time.end; ++part) {
        const bool isCharged = part->cause == IdleCause::LaunchBound || part->cause == IdleCause::Unknown;
        if (isCharged && part->time.start >= gap.time.start) late -= part->time.length();
      }
      const Launch* launch = gap.after ? launchOf(m_device.timeline.events[*gap.after]) : nullptr;
      if (!launch || late.ns() <= 0) continue;
      for (; next < m_waits.size() && m_waits[next].time.end <= launch->start; ++next) push(next);
      take(launch->thread, late);
    }
  }

 private:
  using Stack = std::vector<std::pair<size_t, Duration>>;  // index of a wait, what is left of its lead

  static Duration lateOf(IdleCause cause, const IdleGap& gap) { return gap.byCause[static_cast<size_t>(cause)]; }

  [[nodiscard]] const Launch* launchOf(const DeviceEvent& event) const {
    return m_launches.find(m_device.timeline.process, event.correlation);
  }

  void push(size_t index) {
    const LeadOfWait& wait = m_waits[index];
    const auto starts = m_starts.find(wait.thread);
    if (starts == m_starts.end()) return;  // a thread that only watches
    const auto after = std::ranges::lower_bound(starts->second, wait.time.end);
    Duration lead = wait.lead;
    if (starts->second.end() - after > kQueueCapacity) {
      lead = std::min(lead, *(after + kQueueCapacity) - wait.time.end);
    }
    if (lead.ns() > 0) m_stacks[wait.thread].emplace_back(index, lead);
  }

  void take(ThreadId thread, Duration late) {
    takeFrom(m_stacks[thread], thread, late);
    for (auto& [other, stack] : m_stacks) {
      if (other != thread) takeFrom(stack, thread, late);
    }
  }

  void takeFrom(Stack& stack, ThreadId thread, Duration& late) {
    while (!stack.empty() && late.ns() > 0) {
      auto& [index, lead] = stack.back();
      LeadOfWait& wait = m_waits[index];
      if (wait.thread != thread && launchedDuring(thread, wait.time)) return;
      const Duration hidden = std::min(late, lead);
      wait.refill += hidden;
      late -= hidden;
      lead -= hidden;
      if (lead.ns() == 0) stack.pop_back();
    }
  }

  [[nodiscard]] bool launchedDuring(ThreadId thread, Interval time) const {
    const std::vector<TimePoint>& starts = m_starts.at(thread);
    const auto first = std::ranges::lower_bound(starts, time.start);
    return first != starts.end() && *first < time.end;
  }

  const DeviceIdle& m_device;
  const LaunchIndex& m_launches;
  std::vector<LeadOfWait>& m_waits;
  std::map<ThreadId, std::vector<TimePoint>> m_starts;  // of the launches of this device's work, sorted
  std::map<ThreadId, Stack> m_stacks;
};

}  // namespace

void chargeRefill(const DeviceIdle& device, const LaunchIndex& launches, std::vector<LeadOfWait>& waits) {
  Charger(device, launches, waits).charge();
}

}  // namespace plumb
