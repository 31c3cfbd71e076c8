// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/critical_path.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/host_activity.h"
#include "analyzer/analyses/run_activities.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

constexpr size_t kKernelNames = 20;

std::string nameOfWork(Trace& trace, const ActivityInfo& info) {
  switch (info.table) {
    case WorkKind::Kernel:
      return std::string(trace.text(info.name));
    case WorkKind::Copy:
      return std::string(copyKindName(info.copyKind));
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

class PathReader {
 public:
  PathReader(Trace& trace, const RunActivities& run) : m_trace(trace), m_run(run), m_path(run.graph.longestPath()) {}

  Status read(CriticalPath& result) {
    if (const Status loaded = loadHost(); !loaded.ok()) return loaded;
    for (const ActivityGraph::PathStep& step : m_path) {
      const ActivityInfo& info = m_run.info[step.activity];
      const Interval time = m_run.graph.time(step.activity);
      const Interval wait{step.waitStart, time.start};
      if (isOnDevice(info)) {
        const std::string name = nameOfWork(m_trace, info);
        add(result, {info.process, wait, PathCategory::Launch, name});
        add(result, {info.process, time, categoryOf(info), name});
      } else {
        addHost(result, info, {step.waitStart, time.end});
      }
    }
    return Unit{};
  }
  [[nodiscard]] const std::vector<ActivityGraph::PathStep>& path() const { return m_path; }

 private:
  Status loadHost() {
    std::map<ThreadId, std::vector<Interval>> interest;
    for (const ActivityGraph::PathStep& step : m_path) {
      const ActivityInfo& info = m_run.info[step.activity];
      if (!isOnDevice(info)) interest[info.thread].push_back({step.waitStart, m_run.graph.time(step.activity).end});
    }
    HostActivity::Moments moments;
    for (auto& [thread, intervals] : interest) moments[thread] = IntervalSet::unionOf(std::move(intervals));
    auto host = HostActivity::load(m_trace, moments);
    if (!host.ok()) return host.error();
    m_host = std::move(host).value();
    return Unit{};
  }

  // By what the thread was in: the innermost range, and data loading.
  void addHost(CriticalPath& result, const ActivityInfo& info, Interval time) {
    TimePoint at = time.start;
    const auto bare = [&](TimePoint to) {
      add(result, {info.process, {at, to}, PathCategory::Host, std::string(m_trace.text(info.name))});
    };
    m_host.forEach(info.thread, time, [&](const HostMoment& moment) {
      bare(moment.time.start);
      const StringId name = moment.range != StringId() ? moment.range : moment.call;
      add(result, {info.process, moment.time, moment.isLoading ? PathCategory::DataLoading : PathCategory::Host,
                   std::string(m_trace.text(name))});
      at = moment.time.end;
    });
    bare(time.end);
  }

  static void add(CriticalPath& result, PathSegment segment) {
    if (segment.time.empty()) return;
    result.byCategory[static_cast<size_t>(segment.category)] += segment.time.length();
    if (!result.segments.empty()) {
      PathSegment& last = result.segments.back();
      if (last.process == segment.process && last.category == segment.category && last.name == segment.name) {
        last.time.end = segment.time.end;
        return;
      }
    }
    result.segments.push_back(std::move(segment));
  }

  Trace& m_trace;
  const RunActivities& m_run;
  std::vector<ActivityGraph::PathStep> m_path;
  HostActivity m_host;
};

// Exposed is not blocking: how much of the exposed communication lies on the path.
Status addExposed(Trace& trace, const Filter& filter, CriticalPath& result) {
  auto windows = findWindows(trace, filter);
  if (!windows.ok()) return windows.error();
  auto activities = loadGpuActivity(trace);
  if (!activities.ok()) return activities.error();
  std::map<ProcessId, std::vector<Interval>> onPath;
  for (const PathSegment& segment : result.segments) {
    if (segment.category == PathCategory::Communication) onPath[segment.process].push_back(segment.time);
  }
  for (const GpuActivity& activity : activities.value()) {
    const auto mine = std::ranges::find(windows.value(), activity.process, &ProcessWindows::process);
    if (mine == windows.value().end()) continue;
    const IntervalSet exposed = intersect(subtract(activity.communication, activity.compute), mine->gpu);
    result.exposedCommunication += exposed.length();
    result.exposedCommunicationOnPath += intersect(exposed, IntervalSet::unionOf(onPath[activity.process])).length();
  }
  return Unit{};
}

void addWhatIf(Trace& trace, const RunActivities& run, const std::vector<ActivityGraph::PathStep>& path,
               CriticalPath& result) {
  std::map<StringId, PathWhatIf> names;
  const auto isKernel = [&](size_t i) { return isOnDevice(run.info[i]) && run.info[i].table == WorkKind::Kernel; };
  for (size_t i = 0; i < run.graph.size(); ++i) {
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
  for (auto& [name, kernel] : sorted) {
    const auto wholeWith = [&, id = name](int64_t divisor) {
      return run.graph.wholeTime([&](size_t i) {
        const Duration time = run.graph.time(i).length();
        if (!isKernel(i) || run.info[i].name != id) return time;
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
  static constexpr std::string_view kNames[kPathCategoryCount] = {"compute", "communication", "memory",
                                                                  "launch",  "host",          "data_loading"};
  return kNames[static_cast<size_t>(category)];
}

Result<std::optional<CriticalPath>> findCriticalPath(Trace& trace, const Filter& filter, bool whatIf) {
  auto run = loadRunActivities(trace, filter);
  if (!run.ok()) return run.error();
  if (run.value().graph.size() == 0) return std::optional<CriticalPath>();
  CriticalPath result;
  PathReader reader(trace, run.value());
  if (const Status read = reader.read(result); !read.ok()) return read.error();
  const size_t last = reader.path().back().activity;
  result.whole = run.value().graph.time(last).end - run.value().graph.begin();
  result.activityCount = static_cast<int64_t>(run.value().graph.size());
  if (const Status added = addExposed(trace, filter, result); !added.ok()) return added.error();
  if (whatIf) addWhatIf(trace, run.value(), reader.path(), result);
  return std::optional(std::move(result));
}

}  // namespace plumb
