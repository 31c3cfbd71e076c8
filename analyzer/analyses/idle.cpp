// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/idle.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analyzer/analyses/host_activity.h"
#include "analyzer/analyses/launches.h"
#include "analyzer/analyses/pageable_copies.h"
#include "analyzer/analyses/queued_work.h"
#include "analyzer/analyses/torch_ranges.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/intervals/gallop.h"

namespace plumb {
namespace {

// A gap of the whole trace, before the windows cut it.
struct WholeGap {
  Interval time;
  std::optional<size_t> before, after;
  std::optional<size_t> previousOnStream;  // of `after`
};

std::vector<WholeGap> gapsOf(const DeviceTimeline& timeline) {
  std::vector<WholeGap> gaps;
  std::unordered_map<StreamId, size_t> lastOnStream;
  WholeGap open{kAllTime, std::nullopt, std::nullopt, std::nullopt};
  const auto& events = timeline.events;
  for (size_t i = 0; i < events.size(); ++i) {
    const DeviceEvent& event = events[i];
    if (event.time.empty()) continue;  // adds no time, so it parts no gap
    if (event.time.start > open.time.start) {
      open.time.end = event.time.start;
      open.after = i;
      const auto previous = lastOnStream.find(event.stream);
      if (previous != lastOnStream.end()) open.previousOnStream = previous->second;
      gaps.push_back(open);
    }
    if (event.time.end > open.time.start) {
      open = {{event.time.end, kAllTime.end}, i, std::nullopt, std::nullopt};
    }
    lastOnStream[event.stream] = i;
  }
  gaps.push_back(open);
  return gaps;
}

// The profiler's own work, by process.
Result<std::unordered_map<ProcessId, IntervalSet>> loadOverhead(Trace& trace) {
  std::unordered_map<ProcessId, std::vector<Interval>> found;
  auto rows = trace.query(
      "SELECT process_id, start_ns, duration_ns FROM main.range WHERE duration_ns > 0 AND domain_id IN"
      " (SELECT id FROM main.string WHERE text IN ('overhead', 'profiler overhead'))");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    if (!isUsableTime(row.integer(1), row.integer(2))) continue;
    found[row.id<ProcessId>(0)].push_back(intervalOf(row.integer(1), row.integer(2)));
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  std::unordered_map<ProcessId, IntervalSet> result;
  for (auto& [process, intervals] : found) result[process] = IntervalSet::unionOf(std::move(intervals));
  return result;
}

// What is known of the host and of the streams; shared by all gaps.
struct Knowledge {
  LaunchIndex launches;
  QueuedWork queued;
  std::unordered_map<ProcessId, IntervalSet> overhead;
  PageableCopies pageable;
  HostActivity activity;
};

// By event of the device; null: the launch is not in the trace.
using Launches = std::vector<const Launch*>;

Launches launchesOf(const LaunchIndex& index, const DeviceTimeline& timeline) {
  Launches launches;
  launches.reserve(timeline.events.size());
  for (const DeviceEvent& event : timeline.events) launches.push_back(index.find(timeline.process, event.correlation));
  return launches;
}

// One gap, cut to one window.
struct Piece {
  WholeGap gap;
  Interval time;
};

// What is looked at to explain a piece: the whole gap, so that a window's edge changes no cause. Before the device's
// first work the gap has no beginning.
Interval explained(const Piece& piece) { return piece.gap.before ? piece.gap.time : piece.time; }

class GapSplitter {
 public:
  GapSplitter(const Knowledge& knowledge, const DeviceTimeline& timeline, const Launches& launches, IdleDetail detail)
      : m_known(knowledge), m_timeline(timeline), m_launches(launches), m_detail(detail) {}

  // The parts of the piece, in order, without holes; until the next call.
  const std::vector<IdlePart>& split(const Piece& piece) {
    m_parts.clear();
    m_wait.reset();
    if (!piece.gap.after) {
      rest(piece, piece.time, IdleCause::Unknown, IdleEvidence::NoWork);
      return m_parts;
    }
    const DeviceEvent& event = m_timeline.events[*piece.gap.after];
    const Launch* launch = launchOf(piece.gap.after);
    if (!launch) {
      rest(piece, piece.time, IdleCause::Unknown, IdleEvidence::NoLaunch);
    } else if (launch->start > piece.gap.time.start) {
      lateLaunch(piece, event, *launch);
    } else {
      queued(piece, event, *launch);
    }
    return m_parts;
  }

 private:
  using Wait = std::pair<ThreadId, TimePoint>;

  void lateLaunch(const Piece& piece, const DeviceEvent& event, const Launch& launch) {
    const Interval whole = explained(piece);
    const TimePoint launched = std::clamp(launch.start, whole.start, whole.end);
    lateHost(piece, {whole.start, launched}, launch);
    const bool isWaits = m_wait && !isBlocked(launch.thread, launched) &&
                         !m_known.pageable.contains(m_timeline.process, event.correlation);
    const TimePoint usual = isWaits || launch.end >= whole.end
                                ? whole.end
                                : std::clamp(launch.end + kLongestUsualLatency, launched, whole.end);
    rest(piece, {launched, usual}, isWaits ? IdleCause::HostSynchronization : IdleCause::LaunchBound,
         isWaits ? IdleEvidence::WaitLatency : IdleEvidence::LaunchLatency);
    lateStart(piece, event, launch, {usual, whole.end});
    keepInside(piece.time);
  }

  // The work was launched inside the gap and still did not start.
  void lateStart(const Piece& piece, const DeviceEvent& event, const Launch& launch, Interval time) {
    if (time.empty()) return;
    const auto held = [&](Interval hole) {
      hole = afterPeers(piece, event, hole);
      const bool isWaiting = waitsForEvent(piece, event, launch);
      rest(piece, hole, isWaiting ? IdleCause::StreamDependency : IdleCause::DeviceScheduling,
           isWaiting ? IdleEvidence::WaitRecord : IdleEvidence::LateStart);
    };
    TimePoint at = time.start;
    m_known.activity.forEach(launch.thread, time, [&](const HostMoment& moment) {
      if (!moment.isBlocked) return;
      held({at, moment.time.start});
      // Without `wait`: the work was queued, so that the device would not have done it earlier without this wait.
      add({moment.time, IdleCause::HostSynchronization, IdleEvidence::QueuedInWait, moment.call, moment.range, {}});
      at = moment.time.end;
    });
    held({at, time.end});
  }

  // Before the launch: what did its thread do, or where nothing is known of it, the thread before it?
  void lateHost(const Piece& piece, Interval window, const Launch& launch) {
    std::vector<std::pair<HostMoment, ThreadId>> moments;
    const auto takeOf = [&](ThreadId thread) {
      return [&moments, thread](const HostMoment& moment) { moments.emplace_back(moment, thread); };
    };
    m_known.activity.forEach(launch.thread, window, takeOf(launch.thread));
    if (const Launch* before = launchOf(piece.gap.before); before && before->thread != launch.thread) {
      std::vector<Interval> known;
      for (const auto& [moment, thread] : moments) known.push_back(moment.time);
      const IntervalSet unknown = IntervalSet::unionOf(std::move(known)).gaps(window);
      for (const Interval& hole : unknown.parts()) {
        m_known.activity.forEach(before->thread, hole, takeOf(before->thread));
      }
      std::ranges::sort(moments, {}, [](const auto& entry) { return entry.first.time.start; });
    }
    TimePoint at = window.start;
    for (const auto& [moment, thread] : moments) {
      hostMoment({.time = {at, moment.time.start}}, thread);
      hostMoment(moment, thread);
      at = moment.time.end;
    }
    hostMoment({.time = {at, window.end}}, launch.thread);
  }

  void hostMoment(const HostMoment& moment, ThreadId thread) {
    if (moment.time.empty()) return;
    if (moment.isBlocked) {
      const Wait own(thread, moment.time.start);
      if (!m_wait) m_wait = own;
      return add(
          {moment.time, IdleCause::HostSynchronization, IdleEvidence::BlockingCall, moment.call, moment.range, own});
    }
    IdlePart part{
        moment.time, IdleCause::Unknown, m_wait ? IdleEvidence::NoHostRecordAfterWait : IdleEvidence::NoHostRecord,
        moment.call, moment.range,       m_wait};
    if (moment.isLoading) {
      part.cause = IdleCause::DataLoading;
      part.evidence = IdleEvidence::DataRange;
    } else if (moment.isRecorded) {
      part.cause = IdleCause::LaunchBound;
      part.evidence = m_wait ? IdleEvidence::BusyHostAfterWait : IdleEvidence::BusyHost;
    }
    const auto overhead = m_known.overhead.find(m_timeline.process);
    if (overhead == m_known.overhead.end()) return add(part);
    const IntervalSet inside = overhead->second.clipped(moment.time);
    for (const Interval& piece : inside.parts()) {
      IdlePart before = part;
      before.time = {part.time.start, piece.start};
      add(before);
      add({piece, IdleCause::ProfilerOverhead, IdleEvidence::OverheadRecord, part.call, part.range, {}});
      part.time.start = piece.end;
    }
    add(part);
  }

  // The work was in its stream's queue when the gap began.
  void queued(const Piece& piece, const DeviceEvent& event, const Launch& launch) {
    const Interval left = afterPeers(piece, event, piece.time);
    const DeviceEvent* before = piece.gap.before ? &m_timeline.events[*piece.gap.before] : nullptr;
    if (waitsForEvent(piece, event, launch)) {
      rest(piece, left, IdleCause::StreamDependency, IdleEvidence::WaitRecord);
    } else if (before && before->correlation == event.correlation) {
      rest(piece, left, IdleCause::DeviceScheduling, IdleEvidence::SameGraph);
    } else if (before && before->stream != event.stream) {
      rest(piece, left, IdleCause::StreamDependency, IdleEvidence::OtherStream);
    } else {
      rest(piece, left, IdleCause::DeviceScheduling, IdleEvidence::SameStream);
    }
  }

  // Adds the time until the last of a collective's other ranks arrived; gives what is left.
  Interval afterPeers(const Piece& piece, const DeviceEvent& event, Interval time) {
    if (event.kind != GpuEventKind::Communication) return time;
    const auto arrival = m_known.queued.lastPeerArrival(m_timeline.process, event.correlation);
    // Work that began before the last of the others did not wait for it.
    if (!arrival || *arrival <= time.start || *arrival > event.time.start) return time;
    const TimePoint until = std::min(*arrival, time.end);
    rest(piece, {time.start, until}, IdleCause::CommunicationSkew, IdleEvidence::PeerArrival);
    return {until, time.end};
  }

  [[nodiscard]] bool waitsForEvent(const Piece& piece, const DeviceEvent& event, const Launch& launch) const {
    const Launch* previous = launchOf(piece.gap.previousOnStream);
    return m_known.queued.waitsForEvent(event.stream, previous ? previous->start : kAllTime.start, launch.start);
  }

  // One part, beside which stands what the host did for most of it.
  void rest(const Piece& piece, Interval time, IdleCause cause, IdleEvidence evidence) {
    IdlePart part{time, cause, evidence, {}, {}, m_wait};
    Duration most;
    const Launch* launch = m_detail == IdleDetail::Gaps ? launchOf(piece.gap.after) : nullptr;
    if (!launch && m_detail == IdleDetail::Gaps) launch = launchOf(piece.gap.before);
    if (launch && !time.empty()) {
      m_known.activity.forEach(launch->thread, time, [&](const HostMoment& moment) {
        if (moment.time.length() <= most) return;
        most = moment.time.length();
        part.call = moment.call;
        part.range = moment.range;
      });
    }
    add(part);
  }

  void add(const IdlePart& part) {
    if (part.time.empty()) return;
    if (!m_parts.empty()) {
      IdlePart& last = m_parts.back();
      if (std::tie(last.cause, last.evidence, last.call, last.range, last.wait) ==
          std::tie(part.cause, part.evidence, part.call, part.range, part.wait)) {
        last.time.end = part.time.end;
        return;
      }
    }
    m_parts.push_back(part);
  }

  // The launching call is a copy that blocks: its latency is its own, and so is that of pageable memory, which the host
  // first copies elsewhere.
  [[nodiscard]] bool isBlocked(ThreadId thread, TimePoint at) const {
    bool result = false;
    m_known.activity.forEach(thread, {at, at + Duration(1)}, [&](const HostMoment& m) { result = m.isBlocked; });
    return result;
  }

  void keepInside(Interval window) {
    for (IdlePart& part : m_parts) part.time = clip(part.time, window);
    std::erase_if(m_parts, [](const IdlePart& part) { return part.time.empty(); });
  }

  [[nodiscard]] const Launch* launchOf(std::optional<size_t> event) const {
    return event ? m_launches[*event] : nullptr;
  }

  const Knowledge& m_known;
  const DeviceTimeline& m_timeline;
  const Launches& m_launches;
  const IdleDetail m_detail;
  std::vector<IdlePart> m_parts;
  std::optional<Wait> m_wait;  // the first one of the gap: it let the device run dry
};

// Sums by key of the few parts of one gap.
template <class Key>
class FewSums {
 public:
  void add(const Key& key, Duration time) {
    const auto known = std::ranges::find(m_sums, key, &std::pair<Key, Duration>::first);
    if (known == m_sums.end()) {
      m_sums.emplace_back(key, time);
    } else {
      known->second += time;
    }
  }
  void countInto(std::map<Key, IdleTotal>& totals) {
    for (const auto& [key, time] : m_sums) {
      IdleTotal& total = totals[key];
      ++total.gapCount;
      total.time += time;
      total.largest = std::max(total.largest, time);
    }
    m_sums.clear();
  }

 private:
  std::vector<std::pair<Key, Duration>> m_sums;
};

// Takes the gaps of a device one by one.
class DeviceSummary {
 public:
  DeviceSummary(DeviceIdle& device, PlainRangeNames& places, IdleDetail detail)
      : m_device(device), m_places(places), m_detail(detail) {}

  void add(const Piece& piece, const std::vector<IdlePart>& parts) {
    m_device.total += piece.time.length();
    for (const IdlePart& part : parts) m_byEvidence.add({part.cause, part.evidence}, part.time.length());
    m_byEvidence.countInto(m_device.byEvidence);
    if (m_detail == IdleDetail::Causes) return;
    for (const IdlePart& part : parts) {
      const StringId place = part.range == StringId() ? part.range : m_places.of(part.range);
      m_byRange.add({place, part.cause}, part.time.length());
      if (part.wait) m_device.ofWaits.push_back(part);
    }
    m_byRange.countInto(m_device.byRange);
    m_device.gaps.push_back(gapOf(piece, parts));
  }

 private:
  static IdleGap gapOf(const Piece& piece, const std::vector<IdlePart>& parts) {
    IdleGap gap{piece.time, piece.gap.before, piece.gap.after, {}, {}, {}};
    for (const IdlePart& part : parts) {
      gap.byCause[static_cast<size_t>(part.cause)] += part.time.length();
      if (part.evidence == IdleEvidence::LaunchLatency) gap.launchLatency += part.time.length();
    }
    const auto largest = std::max_element(gap.byCause.begin(), gap.byCause.end());
    const auto cause = static_cast<IdleCause>(largest - gap.byCause.begin());
    for (const IdlePart& part : parts) {
      if (part.cause == cause && part.time.length() > gap.main.time.length()) gap.main = part;
    }
    return gap;
  }

  DeviceIdle& m_device;
  PlainRangeNames& m_places;
  const IdleDetail m_detail;
  FewSums<std::pair<IdleCause, IdleEvidence>> m_byEvidence;
  FewSums<std::pair<StringId, IdleCause>> m_byRange;
};

std::vector<Piece> piecesOf(const DeviceTimeline& timeline, const IntervalSet& windows) {
  std::vector<Piece> pieces;
  const auto& parts = windows.parts();
  size_t first = 0;
  for (const WholeGap& gap : gapsOf(timeline)) {
    first = partitionPointNear(parts, first, [&](const Interval& part) { return part.end <= gap.time.start; });
    for (size_t i = first; i < parts.size() && parts[i].start < gap.time.end; ++i) {
      pieces.push_back({gap, clip(gap.time, parts[i])});
    }
  }
  return pieces;
}

// When to look at what which thread did: its launch ends a piece, or the one before it does.
class Interest {
 public:
  explicit Interest(IdleDetail detail) : m_detail(detail) {}
  void add(const Launches& launches, const std::vector<Piece>& pieces) {
    const auto launchOf = [&](std::optional<size_t> event) { return event ? launches[*event] : nullptr; };
    for (const Piece& piece : pieces) {
      const Launch* after = launchOf(piece.gap.after);
      const bool isHostLate = after && after->start > piece.gap.time.start;
      if (m_detail == IdleDetail::Causes && !isHostLate) continue;
      for (const Launch* launch : {after, launchOf(piece.gap.before)}) {
        if (launch) m_moments[launch->thread].push_back(explained(piece));
      }
    }
  }
  [[nodiscard]] HostActivity::Moments take() {
    HostActivity::Moments moments;
    for (auto& [thread, intervals] : m_moments) moments[thread] = IntervalSet::unionOf(std::move(intervals));
    return moments;
  }

 private:
  const IdleDetail m_detail;
  std::map<ThreadId, std::vector<Interval>> m_moments;
};

}  // namespace

std::string_view nameOf(IdleCause cause) {
  static constexpr std::string_view kNames[kIdleCauseCount] = {
      "host_synchronization", "launch_bound",      "data_loading",      "stream_dependency",
      "communication_skew",   "profiler_overhead", "device_scheduling", "unknown"};
  return kNames[static_cast<size_t>(cause)];
}

std::string_view textOf(IdleEvidence evidence) {
  static constexpr std::string_view kTexts[] = {
      "the launching thread was in a call that waits for the device",
      "a record of the profiler's own work",
      "the launching thread was in a range that loads data",
      "the launching thread was in other calls or ranges",
      "the launching thread was in other calls or ranges after a wait",
      "from the launch call's begin to the work's start",
      "from the launch call's begin to the work's start after a wait",
      "queued; the last of the collective's other ranks arrived meanwhile",
      "queued behind a recorded wait for an event",
      "queued; it follows work of another stream",
      "queued behind work of its own stream",
      "queued behind work of its own graph",
      "launched long before; its thread was in a call that waits for the device",
      "launched long before; nothing is recorded that it waited for",
      "nothing is recorded of the launching thread",
      "nothing is recorded of the launching thread after a wait",
      "the launch is not in the trace",
      "no work of the device follows"};
  return kTexts[static_cast<size_t>(evidence)];
}

Result<std::vector<DeviceIdle>> findIdle(Trace& trace, const Filter& filter, IdleDetail detail) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto timelines = loadDeviceTimelines(trace);
  if (!timelines.ok()) return timelines.error();
  auto launches = LaunchIndex::load(trace, timelines.value());
  if (!launches.ok()) return launches.error();
  auto queued = QueuedWork::load(trace, timelines.value());
  if (!queued.ok()) return queued.error();
  auto overhead = loadOverhead(trace);
  if (!overhead.ok()) return overhead.error();
  auto pageable = PageableCopies::load(trace);
  if (!pageable.ok()) return pageable.error();
  Knowledge known{std::move(launches).value(),
                  std::move(queued).value(),
                  std::move(overhead).value(),
                  std::move(pageable).value(),
                  {}};

  std::vector<DeviceIdle> devices;
  std::vector<std::vector<Piece>> pieces;
  std::vector<Launches> launchesByDevice;
  Interest interest(detail);
  for (DeviceTimeline& timeline : timelines.value()) {
    const auto mine = std::ranges::find(windows.value(), timeline.process, &ProcessWindows::process);
    if (mine == windows.value().end()) continue;
    pieces.push_back(piecesOf(timeline, mine->gpu.clipped(limitOf(filter, timeline.hull()))));
    launchesByDevice.push_back(launchesOf(known.launches, timeline));
    interest.add(launchesByDevice.back(), pieces.back());
    DeviceIdle device;
    device.rank = timeline.rank;
    device.timeline = std::move(timeline);
    devices.push_back(std::move(device));
  }
  auto activity =
      HostActivity::load(trace, interest.take(), detail == IdleDetail::Causes ? HostDetail::Flags : HostDetail::Names);
  if (!activity.ok()) return activity.error();
  known.activity = std::move(activity).value();
  PlainRangeNames places(trace, PlainRangeNames::Of::Places);
  for (size_t i = 0; i < devices.size(); ++i) {
    GapSplitter splitter(known, devices[i].timeline, launchesByDevice[i], detail);
    DeviceSummary summary(devices[i], places, detail);
    for (const Piece& piece : pieces[i]) summary.add(piece, splitter.split(piece));
  }
  return devices;
}

}  // namespace plumb
