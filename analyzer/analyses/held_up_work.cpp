// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/held_up_work.h"

#include <algorithm>
#include <map>
#include <utility>

namespace plumb {
namespace {

// Device and host clocks agree to some microseconds only, so a wait for a collective can seem to return before it ends.
constexpr Duration kClockTolerance(20'000);

}  // namespace

Result<HeldUpWork> HeldUpWork::load(Trace& trace, const std::vector<DeviceTimeline>& timelines) {
  HeldUpWork result;
  auto launches = LaunchIndex::load(trace, timelines);
  if (!launches.ok()) return launches.error();
  result.m_launches = std::move(launches).value();
  std::map<ThreadId, std::vector<Interval>> interest;
  for (const DeviceTimeline& timeline : timelines) {
    Works& works = result.m_works[&timeline];
    for (const DeviceEvent& event : timeline.events) {
      if (event.kind != GpuEventKind::Communication && !event.time.empty()) works.push_back(&event);
    }
    for (const DeviceEvent& event : timeline.events) {
      if (event.kind != GpuEventKind::Communication) continue;
      const Next next = result.nextAfter(timeline, event.time.end);
      if (next.launch) interest[next.launch->thread].push_back(event.time);
    }
  }
  HostActivity::Moments moments;
  for (auto& [thread, times] : interest) moments[thread] = IntervalSet::unionOf(std::move(times));
  auto activity = HostActivity::load(trace, moments, HostDetail::Flags);
  if (!activity.ok()) return activity.error();
  result.m_activity = std::move(activity).value();
  return result;
}

HeldUpWork::Next HeldUpWork::nextAfter(const DeviceTimeline& timeline, TimePoint time) const {
  Next next;
  const Works& works = m_works.at(&timeline);
  const auto first =
      std::ranges::lower_bound(works, time, {}, [](const DeviceEvent* event) { return event->time.start; });
  if (first == works.end()) return next;
  next.isThere = true;
  next.launch = m_launches.find(timeline.process, (*first)->correlation);
  for (auto work = first; work != works.end() && (*work)->time.start <= (*first)->time.end; ++work) {
    const Launch* launch = m_launches.find(timeline.process, (*work)->correlation);
    if (launch) next.launched = std::min(next.launched, launch->end);
  }
  return next;
}

HeldUpWork::Split HeldUpWork::split(const DeviceTimeline& timeline, const DeviceEvent& collective,
                                    const IntervalSet& exposed) const {
  const Next next = nextAfter(timeline, collective.time.end);
  if (!next.isThere) return {exposed.length(), {}};
  std::vector<Interval> held{{std::min(next.launched, collective.time.end), collective.time.end}};
  if (next.launch) {
    m_activity.forEach(next.launch->thread, collective.time, [&](const HostMoment& moment) {
      if (moment.isBlocked && moment.time.end + kClockTolerance >= collective.time.end) held.push_back(moment.time);
    });
  }
  const Duration heldUp = intersect(exposed, IntervalSet::unionOf(std::move(held))).length();
  return {heldUp, next.launch ? Duration() : exposed.length() - heldUp};
}

}  // namespace plumb
