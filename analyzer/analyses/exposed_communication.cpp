// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/exposed_communication.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/device_events.h"
#include "analyzer/analyses/held_up_work.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/named_collectives.h"
#include "analyzer/analyses/recording_start.h"
#include "analyzer/analyses/stuck_collectives.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

// In the order in which they have a moment.
enum class Part : uint8_t { Transfer, Unknown, Waiting, RecordingLater, Missing };
constexpr size_t kPartCount = 5;

// What is known of one kernel.
struct Match {
  std::string operation;
  MatchBasis basis = MatchBasis::Names;
  std::optional<TimePoint> lastArrival;  // of the ranks that are known, by this process's clock
  std::optional<int64_t> lateRank;
  Duration recordingLater;  // of the wait for it
  bool isComplete = false;  // all ranks are known
  bool isMissing = false;   // a rank never came
};
using Matches = std::unordered_map<int64_t, Match>;  // by kernel id

// The first communication of each process: nothing that was recorded before it brought the ranks together.
class FirstCommunication {
 public:
  FirstCommunication(Trace& trace, const std::vector<DeviceTimeline>& timelines) : m_trace(trace) {
    for (const DeviceTimeline& timeline : timelines) {
      const auto first = std::ranges::find(timeline.events, GpuEventKind::Communication, &DeviceEvent::kind);
      if (first == timeline.events.end()) continue;
      const auto [known, isNew] = m_first.emplace(timeline.process, first->time.start);
      if (!isNew) known->second = std::min(known->second, first->time.start);
    }
  }

  struct Arrival {
    ProcessId process;
    TimePoint own;   // by its own clock
    TimePoint time;  // by the clock that the two share
  };
  // Of the rank's wait for the late one, that for its recording to begin.
  [[nodiscard]] Duration waitForRecording(const Arrival& rank, const Arrival& late) const {
    if (!isFirst(rank) || !isFirst(late)) return {};
    const auto recorded = [&](const Arrival& one) { return one.own - m_trace.process(one.process)->start; };
    return plumb::waitForRecording(late.time - rank.time, recorded(rank), recorded(late));
  }

 private:
  [[nodiscard]] bool isFirst(const Arrival& one) const {
    const auto first = m_first.find(one.process);
    return first != m_first.end() && one.own <= first->second && m_trace.process(one.process) != nullptr;
  }

  Trace& m_trace;
  std::unordered_map<ProcessId, TimePoint> m_first;
};

bool areOnOneClock(const CollectiveInstance& instance) {
  return std::ranges::all_of(instance.members, [&](const CollectiveMember& member) {
    return member.clock && member.clock == instance.members.front().clock;
  });
}

void matchByRecord(const CollectiveInstance& instance, const std::set<CollectiveId>& hanging,
                   const FirstCommunication& first, Matches& matches) {
  const CollectiveMember* last = nullptr;
  for (const CollectiveMember& member : instance.members) {
    if (member.device && (!last || member.arrival() > last->arrival())) last = &member;
  }
  const bool isComparable = instance.transfer || areOnOneClock(instance);
  for (const CollectiveMember& member : instance.members) {
    if (!member.kernel || !member.device) continue;
    Match match;
    match.operation = instance.operation;
    match.basis = MatchBasis::Records;
    match.isComplete = instance.transfer.has_value();
    match.isMissing = hanging.contains(member.id);
    if (isComparable) {
      match.lastArrival = last->arrival() + member.clockOffset;
      match.lateRank = last->rank;
      match.recordingLater = first.waitForRecording({member.process, member.device->start, member.arrival()},
                                                    {last->process, last->device->start, last->arrival()});
    }
    // A kernel of several collectives waits until the last of them has all its ranks.
    const auto [known, isNew] = matches.emplace(member.kernel->value(), match);
    if (isNew) continue;
    known->second.isComplete &= match.isComplete;
    known->second.isMissing |= match.isMissing;
    if (match.lastArrival > known->second.lastArrival) {
      known->second.lastArrival = match.lastArrival;
      known->second.lateRank = match.lateRank;
      known->second.recordingLater = match.recordingLater;
    }
  }
}

// A kernel that is known to be communication by its name only.
struct DeviceKernel {
  const DeviceTimeline* timeline;
  const DeviceEvent* event;
};

class NameMatcher {
 public:
  NameMatcher(Trace& trace, const FirstCommunication& first, Matches& matches)
      : m_trace(trace), m_first(first), m_matches(matches) {
    for (const Process& process : trace.processes()) {
      if (process.worldSize) m_worldSize = std::max(m_worldSize, *process.worldSize);
    }
  }

  // The kernels are of one name and one clock.
  void match(const std::vector<DeviceKernel>& kernels, size_t deviceCount) {
    const auto ranks = std::max<int64_t>(m_worldSize, static_cast<int64_t>(deviceCount));
    std::vector<NamedKernel> named;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const auto device = static_cast<size_t>(kernels[i].timeline - kernels[0].timeline);
      named.push_back({kernels[i].event->time, device, i});
    }
    forEachNamedCollective(std::move(named), [&](std::span<const NamedKernel> met) {
      std::vector<DeviceKernel> together;
      for (const NamedKernel& one : met) together.push_back(kernels[one.index]);
      settle(together, ranks);
    });
  }

 private:
  void settle(const std::vector<DeviceKernel>& together, int64_t ranks) {
    for (const DeviceKernel& kernel : together) {
      Match match;
      match.operation = operationOfKernel(m_trace.text(kernel.event->name));
      if (together.size() > 1) {
        match.lastArrival = together.back().event->time.start;
        match.lateRank = together.back().timeline->rank;
        match.recordingLater = m_first.waitForRecording(arrivalOf(kernel), arrivalOf(together.back()));
        match.isComplete = static_cast<int64_t>(together.size()) == ranks;
      }
      m_matches.emplace(kernel.event->id, std::move(match));
    }
  }

  static FirstCommunication::Arrival arrivalOf(const DeviceKernel& kernel) {
    return {kernel.timeline->process, kernel.event->time.start, kernel.event->time.start};
  }

  Trace& m_trace;
  const FirstCommunication& m_first;
  Matches& m_matches;
  int64_t m_worldSize = 0;
};

void matchByName(Trace& trace, const std::vector<DeviceTimeline>& timelines, const std::vector<ClockOffset>& clocks,
                 const FirstCommunication& first, Matches& matches) {
  std::map<std::pair<size_t, StringId>, std::vector<DeviceKernel>> byName;
  std::map<size_t, size_t> devices;  // by clock
  for (const DeviceTimeline& timeline : timelines) {
    const auto isOfIt = [&](const ClockOffset& clock) {
      return std::ranges::find(clock.processes, timeline.process) != clock.processes.end();
    };
    const auto clock = static_cast<size_t>(std::ranges::find_if(clocks, isOfIt) - clocks.begin());
    bool communicates = false;
    for (const DeviceEvent& event : timeline.events) {
      if (event.table != WorkKind::Kernel || event.kind != GpuEventKind::Communication) continue;
      communicates = true;
      if (!matches.contains(event.id)) byName[{clock, event.name}].push_back({&timeline, &event});
    }
    devices[clock] += communicates;
  }
  NameMatcher matcher(trace, first, matches);
  for (const auto& [key, kernels] : byName) matcher.match(kernels, devices[key.first]);
}

Result<Matches> findMatches(Trace& trace, const std::vector<DeviceTimeline>& timelines) {
  Matches matches;
  auto collectives = analyzeCollectives(trace);
  if (!collectives.ok()) return collectives.error();
  auto stuck = analyzeStuckCollectives(trace);
  if (!stuck.ok()) return stuck.error();
  std::set<CollectiveId> hanging;
  for (const StuckCollective& one : stuck.value().collectives) {
    for (const StuckMember& member : one.members) {
      if (member.call && member.waited && !member.isMissing) hanging.insert(*member.call);
    }
  }
  const FirstCommunication first(trace, timelines);
  for (const CollectiveInstance& instance : collectives.value().instances) {
    matchByRecord(instance, hanging, first, matches);
  }
  matchByName(trace, timelines, collectives.value().clocks, first, matches);
  return matches;
}

// A part of one communication event.
struct Piece {
  Interval time;
  Part part;
  size_t group;  // index into the device's result
  const DeviceEvent* event;
  std::optional<int64_t> lateRank;
};

class DeviceSplitter {
 public:
  DeviceSplitter(const DeviceTimeline& timeline, const Matches& matches, const HeldUpWork& heldUp)
      : m_timeline(timeline), m_heldUp(heldUp) {
    for (const DeviceEvent& event : timeline.events) {
      if (event.kind == GpuEventKind::Compute) m_compute.push_back(event.time);
      if (event.kind == GpuEventKind::Communication) add(event, matches);
    }
  }

  std::vector<ExposedCommunication> split(const IntervalSet& windows) {
    IntervalSet taken = IntervalSet::unionOf(std::move(m_compute));
    std::ranges::stable_sort(m_pieces, {}, [](const Piece& piece) { return std::pair(piece.part, piece.time.start); });
    for (auto first = m_pieces.begin(); first != m_pieces.end();) {
      const auto last = std::find_if(first, m_pieces.end(), [&](const Piece& p) { return p.part != first->part; });
      std::vector<Interval> times;
      for (auto piece = first; piece != last; ++piece) times.push_back(piece->time);
      const IntervalSet all = IntervalSet::unionOf(std::move(times));
      const IntervalSet free = intersect(subtract(all, taken), windows);
      TimePoint at = kAllTime.start;
      for (auto piece = first; piece != last; ++piece) {
        const Interval own{std::max(piece->time.start, at), piece->time.end};
        at = std::max(at, piece->time.end);
        if (own.start < own.end) count(*piece, free.clipped(own));
      }
      taken = unite(taken, all);
      first = last;
    }
    return finish();
  }

 private:
  void add(const DeviceEvent& event, const Matches& matches) {
    const auto found = event.table == WorkKind::Kernel ? matches.find(event.id) : matches.end();
    const Match unknown{"other", MatchBasis::Records, {}, {}, {}, false, false};
    const Match& match = found == matches.end() ? unknown : found->second;
    const size_t group = groupOf(match);
    if (match.isMissing) return m_pieces.push_back({event.time, Part::Missing, group, &event, {}});
    const TimePoint came =
        match.lastArrival ? std::clamp(*match.lastArrival, event.time.start, event.time.end) : event.time.start;
    const TimePoint began = std::clamp(event.time.start + match.recordingLater, event.time.start, came);
    m_pieces.push_back({{event.time.start, began}, Part::RecordingLater, group, &event, match.lateRank});
    m_pieces.push_back({{began, came}, Part::Waiting, group, &event, match.lateRank});
    m_pieces.push_back({{came, event.time.end}, match.isComplete ? Part::Transfer : Part::Unknown, group, &event, {}});
  }

  size_t groupOf(const Match& match) {
    const auto [at, isNew] = m_groups.emplace(std::pair(match.operation, match.basis), m_result.size());
    if (isNew) {
      ExposedCommunication one;
      one.process = m_timeline.process;
      one.rank = m_timeline.rank;
      one.device = m_timeline.device;
      one.operation = match.operation;
      one.basis = match.basis;
      m_result.push_back(std::move(one));
    }
    return at->second;
  }

  void count(const Piece& piece, const IntervalSet& exposed) {
    if (exposed.empty()) return;
    const Duration time = exposed.length();
    static constexpr std::array<Duration ExposedCommunication::*, kPartCount> kTimes = {
        &ExposedCommunication::transfer, &ExposedCommunication::unknown, &ExposedCommunication::waiting,
        &ExposedCommunication::waiting, &ExposedCommunication::missing};
    m_result[piece.group].*kTimes[static_cast<size_t>(piece.part)] += time;
    if (piece.part == Part::Transfer || piece.part == Part::Unknown) {
      const HeldUpWork::Split split = m_heldUp.split(m_timeline, *piece.event, exposed);
      m_result[piece.group].heldUp += split.heldUp;
      m_result[piece.group].launchUnknown += split.launchUnknown;
    }
    m_exposed[piece.group][piece.event] += time;
    const bool isRecording = piece.part == Part::RecordingLater;
    if (isRecording) m_result[piece.group].recordingLater += time;
    if (piece.lateRank) (isRecording ? m_recordedLater : m_waitedFor)[piece.group][*piece.lateRank] += time;
  }

  static std::optional<int64_t> rankOfMost(const std::map<int64_t, Duration>& times) {
    std::optional<int64_t> result;
    Duration most;
    for (const auto& [rank, time] : times) {
      if (time > most) most = time, result = rank;
    }
    return result;
  }

  std::vector<ExposedCommunication> finish() {
    for (size_t i = 0; i < m_result.size(); ++i) {
      ExposedCommunication& one = m_result[i];
      one.kernelCount = static_cast<int64_t>(m_exposed[i].size());
      Duration most;
      for (const auto& [event, time] : m_exposed[i]) {
        if (time < most || (time == most && most.ns() > 0 && event->time.start >= one.where.start)) continue;
        most = time;
        one.where = event->time;
        one.longest = event->table == WorkKind::Kernel ? std::optional(KernelId(event->id)) : std::nullopt;
      }
      one.lateRank = rankOfMost(m_waitedFor[i]);
      one.laterRecorded = rankOfMost(m_recordedLater[i]);
    }
    std::erase_if(m_result, [](const ExposedCommunication& one) { return one.exposed().ns() == 0; });
    std::ranges::stable_sort(m_result, std::greater{}, &ExposedCommunication::exposed);
    return std::move(m_result);
  }

  const DeviceTimeline& m_timeline;
  const HeldUpWork& m_heldUp;
  std::vector<Interval> m_compute;
  std::vector<Piece> m_pieces;
  std::map<std::pair<std::string, MatchBasis>, size_t> m_groups;
  std::vector<ExposedCommunication> m_result;
  std::map<size_t, std::unordered_map<const DeviceEvent*, Duration>> m_exposed;
  std::map<size_t, std::map<int64_t, Duration>> m_waitedFor, m_recordedLater;
};

}  // namespace

std::string_view nameOf(MatchBasis basis) { return basis == MatchBasis::Records ? "records" : "names"; }

std::string_view operationOfKernel(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kOperations = {
      {{"allreduce", "AllReduce"},
       {"reducescatter", "ReduceScatter"},
       {"allgather", "AllGather"},
       {"alltoall", "AllToAll"},
       {"sendrecv", "SendRecv"},
       {"broadcast", "Broadcast"},
       {"reduce", "Reduce"},
       {"gather", "Gather"}}};
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const auto& [part, operation] : kOperations) {
    if (plain.find(part) != std::string::npos) return operation;
  }
  return "other";
}

Result<std::vector<ExposedCommunication>> findExposedCommunication(Trace& trace, const Filter& filter) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto timelines = loadDeviceTimelines(trace);
  if (!timelines.ok()) return timelines.error();
  std::vector<ExposedCommunication> result;
  const auto communicates = [](const DeviceTimeline& timeline) {
    return std::ranges::find(timeline.events, GpuEventKind::Communication, &DeviceEvent::kind) != timeline.events.end();
  };
  if (std::ranges::none_of(timelines.value(), communicates)) return result;
  auto matches = findMatches(trace, timelines.value());
  if (!matches.ok()) return matches.error();
  const auto heldUp = HeldUpWork::load(trace, timelines.value());
  if (!heldUp.ok()) return heldUp.error();
  for (const DeviceTimeline& timeline : timelines.value()) {
    const auto mine = std::ranges::find(windows.value(), timeline.process, &ProcessWindows::process);
    if (mine == windows.value().end()) continue;
    for (ExposedCommunication& one : DeviceSplitter(timeline, matches.value(), heldUp.value()).split(mine->gpu)) {
      result.push_back(std::move(one));
    }
  }
  return result;
}

}  // namespace plumb
