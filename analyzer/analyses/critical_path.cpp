// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/critical_path.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/analyses/host_activity.h"
#include "analyzer/analyses/launches.h"
#include "analyzer/analyses/run_activities.h"

namespace plumb {
namespace {

constexpr size_t kKernelNames = 20;

std::string_view nameOfWork(Trace& trace, const ActivityInfo& info) {
  switch (info.table) {
    case WorkKind::Kernel:
      return trace.text(info.name);
    case WorkKind::Copy:
      return copyKindName(info.copyKind);
    default:
      return "set";
  }
}

bool isOnDevice(const ActivityInfo& info) {
  return info.kind == ActivityKind::Work || info.kind == ActivityKind::Arrival || info.kind == ActivityKind::Transfer;
}

PathCategory categoryOf(const ActivityInfo& info) {
  if (!isOnDevice(info)) return PathCategory::Host;
  switch (info.work) {
    case GpuEventKind::Communication:
      return PathCategory::Communication;
    case GpuEventKind::Memory:
      return PathCategory::Memory;
    default:
      return PathCategory::Compute;
  }
}

using Path = std::vector<ActivityGraph::PathStep>;

// How long it is usual that the work has not begun after all that it waited for.
TimePoint usualStart(const RunActivities& run, const ActivityGraph::PathStep& step) {
  const TimePoint start = run.graph.time(step.activity).start;
  if (!step.hasCause) return step.waitStart;
  TimePoint from = step.waitStart;
  run.graph.forEachCause(step.activity, [&](ActivityGraph::Activity cause) {
    const bool isLaunch = run.info[cause].kind == ActivityKind::Code;
    if (isLaunch) from = std::max(from, run.graph.time(cause + 1).end);
  });
  return std::min(start, from + kLongestUsualLatency);
}

// Calls take(info, place, time, category) for each part of the path on a device and before it, and before anything is
// known of a thread; takeHost(info, place, time) for those of the host. Times are by the clocks of their processes.
template <class Take, class TakeHost>
void forEachPart(const RunActivities& run, const Path& path, Take take, TakeHost takeHost) {
  for (const ActivityGraph::PathStep& step : path) {
    const ActivityInfo& info = run.info[step.activity];
    const ActivityPlace& place = run.placeOf(step.activity);
    const auto own = [&](TimePoint from, TimePoint to) {
      return Interval{from + place.clockOffset, to + place.clockOffset};
    };
    const Interval time = run.graph.time(step.activity);
    if (isOnDevice(info)) {
      const TimePoint usual = usualStart(run, step);
      take(info, place, own(step.waitStart, usual), PathCategory::Launch);
      take(info, place, own(usual, time.start), PathCategory::Unknown);
      take(info, place, own(time.start, time.end), categoryOf(info));
      continue;
    }
    const TimePoint known = step.hasCause ? step.waitStart : time.start;
    take(info, place, own(step.waitStart, known), PathCategory::Unknown);
    takeHost(info, place, own(known, time.end));
  }
}

// The path's segments with their names: on the host what the thread was in, the innermost range, and data loading.
class SegmentReader {
 public:
  SegmentReader(Trace& trace, const RunActivities& run, const Path& path) : m_trace(trace), m_run(run), m_path(path) {}

  Result<std::vector<PathSegment>> read() {
    if (const Status loaded = loadHost(); !loaded.ok()) return loaded.error();
    forEachPart(
        m_run, m_path,
        [&](const ActivityInfo& info, const ActivityPlace& place, Interval time, PathCategory category) {
          add(place, time, category, isOnDevice(info) ? nameOfWork(m_trace, info) : std::string_view());
        },
        [&](const ActivityInfo& info, const ActivityPlace& place, Interval time) { addHost(info, place, time); });
    return std::move(m_segments);
  }

 private:
  Status loadHost() {
    std::map<ThreadId, std::vector<Interval>> interest;
    forEachPart(
        m_run, m_path, [](const ActivityInfo&, const ActivityPlace&, Interval, PathCategory) {},
        [&](const ActivityInfo&, const ActivityPlace& place, Interval time) {
          std::vector<Interval>& mine = interest[place.thread];
          if (!mine.empty() && mine.back().end == time.start) {
            mine.back().end = time.end;
          } else {
            mine.push_back(time);
          }
        });
    HostActivity::Moments moments;
    for (auto& [thread, intervals] : interest) moments[thread] = IntervalSet::unionOf(std::move(intervals));
    auto host = HostActivity::load(m_trace, moments, HostDetail::All);
    if (!host.ok()) return host.error();
    m_host = std::move(host).value();
    return Unit{};
  }

  void addHost(const ActivityInfo& info, const ActivityPlace& place, Interval time) {
    TimePoint at = time.start;
    const auto bare = [&](TimePoint to) { add(place, {at, to}, PathCategory::Host, m_trace.text(info.name)); };
    m_host.forEach(place.thread, time, [&](const HostMoment& moment) {
      bare(moment.time.start);
      StringId name;
      for (const StringId known : {moment.range, moment.call, moment.osCall}) {
        if (name == StringId()) name = known;
      }
      add(place, moment.time, moment.isLoading ? PathCategory::DataLoading : PathCategory::Host, m_trace.text(name));
      at = moment.time.end;
    });
    bare(time.end);
  }

  void add(const ActivityPlace& place, Interval time, PathCategory category, std::string_view name) {
    if (time.empty()) return;
    if (!m_segments.empty()) {
      PathSegment& last = m_segments.back();
      const bool isOfOne = last.process == place.process && last.thread == place.thread;
      if (isOfOne && last.category == category && last.name == name) {
        last.time.end = time.end;
        return;
      }
    }
    m_segments.push_back({place.process, place.thread, time, category, name});
  }

  Trace& m_trace;
  const RunActivities& m_run;
  const Path& m_path;
  HostActivity m_host;
  std::vector<PathSegment> m_segments;
};

// Exposed is not blocking: how much of the exposed communication lies on the path.
void addExposed(const RunActivities& run, const Path& path, CriticalPath& result) {
  std::map<ProcessId, std::vector<Interval>> parts;
  forEachPart(
      run, path,
      [&](const ActivityInfo&, const ActivityPlace& place, Interval time, PathCategory category) {
        if (category == PathCategory::Communication) parts[place.process].push_back(time);
      },
      [](const ActivityInfo&, const ActivityPlace&, Interval) {});
  std::map<ProcessId, IntervalSet> onPath;
  for (auto& [process, times] : parts) onPath[process] = IntervalSet::unionOf(std::move(times));
  for (const auto& [process, exposed] : run.exposed) {
    result.exposedCommunication += exposed.length();
    result.exposedCommunicationOnPath += intersect(exposed, onPath[process]).length();
  }
}

void addShares(const RunActivities& run, const Path& path, CriticalPath& result) {
  const auto add = [&](PathCategory category, Duration time) {
    result.byCategory[static_cast<size_t>(category)] += time;
  };
  forEachPart(
      run, path,
      [&](const ActivityInfo&, const ActivityPlace&, Interval time, PathCategory category) {
        if (!time.empty()) add(category, time.length());
      },
      [&](const ActivityInfo&, const ActivityPlace& place, Interval time) {
        if (time.empty()) return;
        const auto mine = run.loading.find(place.thread);
        const Duration part = mine == run.loading.end() ? Duration() : mine->second.lengthWithin(time);
        add(PathCategory::DataLoading, part);
        add(PathCategory::Host, time.length() - part);
      });
}

void addPeers(const RunActivities& run, const Path& path, CriticalPath& result) {
  for (const ActivityGraph::PathStep& step : path) {
    const ActivityInfo& info = run.info[step.activity];
    if (!isOnDevice(info) || info.work != GpuEventKind::Communication || info.kind == ActivityKind::Arrival) continue;
    const PeerBasis peers = run.peersOf(step.activity);
    const bool isByName = peers == PeerBasis::Names || peers == PeerBasis::SomeNames;
    const bool isWhole = peers == PeerBasis::Names || peers == PeerBasis::Records;
    result.kernelsByName += isByName;
    if (!isWhole) result.withoutPeers += run.graph.time(step.activity).length();
  }
}

void addWhatIf(Trace& trace, const RunActivities& run, const Path& path, CriticalPath& result) {
  std::map<StringId, PathWhatIf> names;
  const auto isKernel = [&](ActivityGraph::Activity i) {
    return isOnDevice(run.info[i]) && run.info[i].table == WorkKind::Kernel;
  };
  for (ActivityGraph::Activity i = 0; i < run.graph.size(); ++i) {
    if (!isKernel(i)) continue;
    PathWhatIf& kernel = names[run.info[i].name];
    kernel.count += run.info[i].kind != ActivityKind::Transfer;
    kernel.total += run.graph.time(i).length();
  }
  for (const ActivityGraph::PathStep& step : path) {
    if (!isKernel(step.activity)) continue;
    PathWhatIf& kernel = names[run.info[step.activity].name];
    kernel.countOnPath += run.info[step.activity].kind != ActivityKind::Arrival;
    kernel.onPath += run.graph.time(step.activity).length();
  }
  std::vector<std::pair<StringId, PathWhatIf>> sorted(names.begin(), names.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(b.second.onPath, b.second.total) < std::pair(a.second.onPath, a.second.total);
  });
  if (sorted.size() > kKernelNames) sorted.resize(kKernelNames);
  const ActivitySchedule schedule(run.graph);
  for (auto& [name, kernel] : sorted) {
    const auto wholeWith = [&, id = name](int64_t divisor) {
      return schedule.wholeTime([&](ActivityGraph::Activity i) {
        const Duration time = run.graph.time(i).length();
        if (run.info[i].name != id || !isKernel(i)) return time;
        return divisor == 0 ? Duration() : Duration(time.ns() / divisor);
      });
    };
    kernel.name = trace.text(name);
    kernel.savedTwiceAsFast = result.whole - wholeWith(2);
    kernel.savedFree = result.whole - wholeWith(0);
    result.kernels.push_back(std::move(kernel));
  }
}

}  // namespace

std::string_view nameOf(PathCategory category) {
  static constexpr std::string_view kNames[kPathCategoryCount] = {"compute", "communication", "memory", "launch",
                                                                  "host",    "data_loading",  "unknown"};
  return kNames[static_cast<size_t>(category)];
}

Result<std::optional<CriticalPath>> findCriticalPath(Trace& trace, const Filter& filter, PathDetail detail) {
  auto loaded = loadRunActivities(trace, filter);
  if (!loaded.ok()) return loaded.error();
  RunActivities& run = loaded.value();
  if (run.graph.size() == 0) return std::optional<CriticalPath>();
  const Path path = run.graph.longestPath();
  CriticalPath result;
  result.whole = run.graph.time(path.back().activity).end - run.graph.begin();
  result.activityCount = static_cast<int64_t>(run.graph.size());
  result.clocks = std::move(run.clocks);
  addExposed(run, path, result);
  addPeers(run, path, result);
  if (detail == PathDetail::Segments) {
    auto segments = SegmentReader(trace, run, path).read();
    if (!segments.ok()) return segments.error();
    result.segments = std::move(segments).value();
    for (const PathSegment& segment : result.segments) {
      result.byCategory[static_cast<size_t>(segment.category)] += segment.time.length();
    }
  } else {
    addShares(run, path, result);
  }
  if (detail == PathDetail::WhatIf) addWhatIf(trace, run, path, result);
  return std::optional(std::move(result));
}

}  // namespace plumb
