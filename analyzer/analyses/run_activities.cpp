// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/run_activities.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/ended_work.h"
#include "analyzer/analyses/first_by_key.h"
#include "analyzer/analyses/launch_times.h"
#include "analyzer/analyses/run_collectives.h"
#include "analyzer/analyses/run_host.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/intervals/sort_runs.h"
#include "analyzer/trace/pair_hash.h"

namespace plumb {
namespace {

using Activity = ActivityGraph::Activity;

// Work that begins later than this after it could is not late because launching takes its time.
constexpr Duration kLate{20'000};

// What a stream has done so far. Most streams do one after the other; a graph's work can overlap on one.
class StreamOrder {
 public:
  // The work that ended last by the time that the next one begins.
  std::optional<Activity> lastBefore(const ActivityGraph& graph, TimePoint start) {
    std::erase_if(m_running, [&](Activity one) {
      if (graph.time(one).end > start) return false;
      if (!m_last || graph.time(*m_last).end <= graph.time(one).end) m_last = one;
      return true;
    });
    return m_last;
  }
  void add(Activity activity) { m_running.push_back(activity); }

 private:
  std::vector<Activity> m_running;
  std::optional<Activity> m_last;
};

class Builder {
 public:
  Builder(Trace& trace, const Filter& filter) : m_trace(trace), m_filter(filter), m_host(trace, m_windows, m_run) {}

  Result<RunActivities> run() {
    auto windows = findWindows(m_trace, m_filter);
    if (!windows.ok()) return windows.error();
    for (const ProcessWindows& window : windows.value()) m_windows.emplace(window.process, window);
    if (const Status done = compareClocks(); !done.ok()) return done.error();
    if (const Status done = m_host.addAll(); !done.ok()) return done.error();
    if (const Status done = addWork(); !done.ok()) return done.error();
    if (const Status done = addSynchronizations(); !done.ok()) return done.error();
    addFullQueues();
    shareClock();
    if (m_collectives) m_transfers = m_collectives->split(m_run, m_kernels);
    for (const RunHost::Returned& returned : m_host.returns()) linkReturn(returned);
    m_run.graph.finish();
    return std::move(m_run);
  }

 private:
  using CallKey = std::pair<ProcessId, Correlation>;
  struct Placed {
    Activity activity;
    TimePoint launched;  // host time; the work's start where unknown
  };

  const ProcessWindows* windowsOf(ProcessId process) const {
    const auto found = m_windows.find(process);
    return found == m_windows.end() ? nullptr : &found->second;
  }

  // Ranks whose clocks cannot be compared are left out.
  Status compareClocks() {
    if (m_windows.size() < 2 && m_trace.devices().size() < 2) return Unit{};
    auto collectives = RunCollectives::load(m_trace);
    if (!collectives.ok()) return collectives.error();
    m_collectives = std::move(collectives).value();
    if (m_windows.size() < 2) return Unit{};
    m_run.clocks = m_collectives->takeStatements();
    std::erase_if(m_windows, [&](const auto& entry) { return !m_collectives->correctionOf(entry.first); });
    return Unit{};
  }

  // Until then all times are those of their processes' own clocks.
  void shareClock() {
    if (!m_collectives || m_windows.size() < 2) return;
    for (ActivityPlace& place : m_run.places) {
      place.clockOffset = m_collectives->correctionOf(place.process).value_or(Duration());
    }
    for (Activity i = 0; i < m_run.graph.size(); ++i) {
      m_run.graph.move(i, Duration() - m_run.placeOf(i).clockOffset);
    }
  }

  Status addWork() {
    auto timelines = loadDeviceTimelines(m_trace);
    if (!timelines.ok()) return timelines.error();
    m_firstWork = static_cast<Activity>(m_run.graph.size());
    for (DeviceTimeline& timeline : timelines.value()) {
      if (const ProcessWindows* window = windowsOf(timeline.process)) addDevice(timeline, *window);
      timeline.events = {};
    }
    m_kernels.seal();
    setLatency();
    return Unit{};
  }

  // What work takes at least from the begin of its launch call, as idle streams show; not the very least, as the clocks
  // of host and device are not quite the same.
  void setLatency() {
    if (m_latencies.empty()) return;
    const auto low = m_latencies.begin() + static_cast<std::ptrdiff_t>(m_latencies.size() / 10);
    std::nth_element(m_latencies.begin(), low, m_latencies.end());
    m_run.graph.setLatency(*low);
    m_latencies = {};
  }

  void addDevice(const DeviceTimeline& timeline, const ProcessWindows& window) {
    m_run.places.push_back({timeline.process, {}, {}});
    const auto place = static_cast<uint32_t>(m_run.places.size() - 1);
    m_run.info.reserve(m_run.info.size() + timeline.events.size());
    std::unordered_map<StreamId, StreamOrder> streams;
    std::vector<Interval> compute, communication;
    for (const DeviceEvent& event : timeline.events) {
      if (event.kind == GpuEventKind::Compute) compute.push_back(event.time);
      if (event.kind == GpuEventKind::Communication) communication.push_back(event.time);
      if (!window.gpu.contains(event.time.start)) continue;
      addEvent(timeline.process, event, place, streams[event.stream]);
    }
    for (const auto& [stream, order] : streams) m_streamsOf[timeline.process].push_back(stream);
    m_run.exposed.emplace_back(timeline.process, intersect(subtract(IntervalSet::unionOf(std::move(communication)),
                                                                    IntervalSet::unionOf(std::move(compute))),
                                                           window.gpu));
  }

  void addEvent(ProcessId process, const DeviceEvent& event, uint32_t place, StreamOrder& stream) {
    m_run.info.push_back({.kind = ActivityKind::Work,
                          .work = event.kind,
                          .copyKind = event.copyKind,
                          .table = event.table,
                          .place = place,
                          .name = event.name});
    const Activity activity = m_run.graph.add(event.time);
    TimePoint launched = event.time.start;
    if (const RunHost::Launch* launch = m_host.launchOf(process, event.correlation)) {
      m_run.graph.dependAfterLatency(activity, launch->code);
      launched = launch->start;
    }
    const auto before = stream.lastBefore(m_run.graph, event.time.start);
    const bool isIdle = !before || m_run.graph.time(*before).end <= launched;
    if (isIdle && launched < event.time.start) m_latencies.push_back(event.time.start - launched);
    if (event.time.start - launched > kLate && (!before || event.time.start - m_run.graph.time(*before).end > kLate)) {
      m_late.push_back({process, {activity, launched}});
    }
    if (before) m_run.graph.depend(activity, *before);
    stream.add(activity);
    m_onStream[event.stream].push_back({activity, launched});
    m_ofProcess[process].push_back(activity);
    m_correlations.push_back(event.correlation);
    if (event.table == WorkKind::Kernel && event.kind == GpuEventKind::Communication && m_collectives) {
      m_kernels.add(KernelId(event.id), activity);
    }
  }

  void orderByEnd() {
    if (!m_endedOfProcess.empty()) return;
    for (const auto& [process, work] : m_ofProcess) {
      EndedWork& ended = m_endedOfProcess[process];
      ended.reserve(work.size());
      for (const Activity activity : work) ended.add(m_run.graph.time(activity).end, activity);
      ended.seal();
    }
    for (const auto& [stream, work] : m_onStream) {
      EndedWork& ended = m_endedOnStream[stream];
      for (const Placed& placed : work) ended.add(m_run.graph.time(placed.activity).end, placed.activity);
      ended.seal();
    }
  }
  void orderByLaunch() {
    for (auto& [stream, work] : m_onStream) {
      sortRuns(work, [](const Placed& a, const Placed& b) { return a.launched < b.launched; });
    }
  }

  // The first work of the stream that was launched at that time or later, and the last before.
  [[nodiscard]] std::pair<std::optional<Activity>, std::optional<Activity>> aroundLaunch(StreamId stream,
                                                                                         TimePoint t) const {
    const auto work = m_onStream.find(stream);
    if (work == m_onStream.end()) return {};
    const auto after = std::partition_point(work->second.begin(), work->second.end(),
                                            [t](const Placed& placed) { return placed.launched < t; });
    std::pair<std::optional<Activity>, std::optional<Activity>> result;
    if (after != work->second.end()) result.first = after->activity;
    if (after != work->second.begin()) result.second = std::prev(after)->activity;
    return result;
  }

  struct Synchronization {
    enum Kind : int64_t { Event = 1, StreamWaitsForEvent = 2 };
    CallKey call;
    std::optional<StreamId> stream;
    TimePoint start;
    int64_t kind = 0;
    std::optional<Activity> recorded;  // the work that the event stands for
  };

  Status addSynchronizations() {
    if (!m_host.returns().empty()) orderByEnd();
    auto rows = m_trace.query(
        "SELECT y.process_id, y.correlation, y.stream_id, y.start_ns, y.kind, e.recorded_stream_id, "
        "e.recorded_correlation"
        " FROM main.synchronization y LEFT JOIN synchronization_event e ON e.synchronization_id = y.id"
        " WHERE y.stream_id IS NOT NULL OR e.recorded_stream_id IS NOT NULL");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    bool isOrdered = false;
    std::set<ProcessId> recorded;  // of which waits for events are recorded
    while (row.next()) {
      Synchronization one{{row.id<ProcessId>(0), row.id<Correlation>(1)}, {}, row.time(3), row.integer(4), {}};
      if (!row.isNull(2)) one.stream = row.id<StreamId>(2);
      if (!std::exchange(isOrdered, true)) {
        orderByEnd();
        orderByLaunch();
      }
      if (!row.isNull(5) && !row.isNull(6)) {
        const RunHost::Launch* record = m_host.launchOf(one.call.first, row.id<Correlation>(6));
        if (record) one.recorded = aroundLaunch(row.id<StreamId>(5), record->start).second;
      }
      if (one.kind == Synchronization::StreamWaitsForEvent) recorded.insert(one.call.first);
      addSynchronization(one);
    }
    inferWaits(recorded);
    return row.status();
  }

  void addSynchronization(const Synchronization& one) {
    if (one.kind != Synchronization::StreamWaitsForEvent) {
      if (one.kind == Synchronization::Event && one.recorded) m_waitedWork.emplace(one.call, *one.recorded);
      if (one.stream) m_waitedStream.emplace(one.call, *one.stream);
      return;
    }
    if (!one.stream) return;
    const RunHost::Launch* call = m_host.launchOf(one.call.first, one.call.second);
    const auto effect = aroundLaunch(*one.stream, call ? call->start : one.start).first;
    if (!effect) return;
    const auto cause =
        one.recorded ? one.recorded : m_endedOfProcess[one.call.first].lastBy(m_run.graph.time(*effect).start);
    if (cause) m_run.graph.depend(*effect, *cause);
  }

  // Most profilers record no waits for events. What was launched long ago, and does not follow on its own stream,
  // waited for the work that ended just before it, or for the room that this took.
  void inferWaits(const std::set<ProcessId>& recorded) {
    if (!m_late.empty()) orderByEnd();
    for (const auto& [process, work] : m_late) {
      if (recorded.contains(process)) continue;
      const TimePoint start = m_run.graph.time(work.activity).start;
      const auto cause = m_endedOfProcess[process].lastBy(start);
      if (!cause) continue;
      const TimePoint end = m_run.graph.time(*cause).end;
      if (start - end <= kLate && end - work.launched > kLate) m_run.graph.depend(work.activity, *cause);
    }
  }

  // A launch into a full queue returns when the device has taken up the oldest of it: it waits for the end of the one
  // before that.
  void addFullQueues() {
    for (auto& [stream, work] : m_onStream) {
      if (work.size() <= kQueueCapacity) continue;
      addFullQueue(work);
    }
  }

  void addFullQueue(std::vector<Placed>& work) {
    sortRuns(work, [](const Placed& a, const Placed& b) { return a.launched < b.launched; });
    std::vector<Activity> queue;  // one for each launch: a graph's work has one
    for (const Placed& placed : work) {
      const bool isOfLaunch = !queue.empty() && correlationOf(queue.back()) == correlationOf(placed.activity);
      if (!isOfLaunch) queue.push_back(placed.activity);
      if (isOfLaunch || queue.size() < kQueueCapacity + 2) continue;
      const RunHost::Launch* launch =
          m_host.launchOf(m_run.placeOf(placed.activity).process, correlationOf(placed.activity));
      if (!launch || m_run.info[launch->code + 1].kind != ActivityKind::Call) continue;
      const Activity call = launch->code + 1, oldest = queue[queue.size() - 1 - kQueueCapacity];
      const TimePoint room = m_run.graph.time(oldest).start;
      if (room <= m_run.graph.time(call).start || room > m_run.graph.time(call).end) continue;
      m_run.graph.becomeReturn(call);
      m_run.graph.depend(call, queue[queue.size() - 2 - kQueueCapacity]);
    }
  }

  [[nodiscard]] Correlation correlationOf(Activity work) const { return m_correlations[work - m_firstWork]; }

  // The first work of each correlation id.
  const Activity* workOf(ProcessId process, Correlation correlation) {
    auto [known, isNew] = m_byCorrelation.try_emplace(process);
    if (isNew) {
      for (const Activity activity : m_ofProcess[process]) known->second.add(correlationOf(activity), activity);
      known->second.seal();
    }
    return known->second.find(correlation);
  }

  void linkReturn(const RunHost::Returned& returned) {
    const CallKey call{returned.process, returned.correlation};
    if (const Activity* own = workOf(returned.process, returned.correlation)) return dependOn(returned, *own);
    if (const auto work = m_waitedWork.find(call); work != m_waitedWork.end()) return dependOn(returned, work->second);
    if (const auto stream = m_waitedStream.find(call); stream != m_waitedStream.end()) {
      return dependOn(returned, m_endedOnStream[stream->second].lastBy(returned.callEnd));
    }
    dependOn(returned, m_endedOfProcess[returned.process].lastBy(returned.callEnd));
    if (!waitsForDevice(m_run.info[returned.activity].name)) return;
    // Were others faster, it would wait for these.
    for (const StreamId stream : m_streamsOf[returned.process]) {
      dependOn(returned, m_endedOnStream[stream].lastBy(returned.callEnd));
    }
  }

  void dependOn(const RunHost::Returned& returned, std::optional<Activity> work) {
    if (work) m_run.graph.depend(returned.activity, finishOf(*work));
  }

  bool waitsForDevice(StringId name) {
    const auto [known, isNew] = m_waitsForDevice.emplace(name, false);
    if (isNew) {
      const std::string_view text = m_trace.text(name);
      known->second = text.find("DeviceSynchronize") != std::string_view::npos ||
                      text.find("CtxSynchronize") != std::string_view::npos;
    }
    return known->second;
  }

  // What stands for the end of the work: of a collective its transfer.
  [[nodiscard]] Activity finishOf(Activity work) const {
    const auto transfer = m_transfers.find(work);
    return transfer == m_transfers.end() ? work : transfer->second;
  }

  struct KeyHash {
    size_t operator()(const CallKey& key) const { return pairHash(key.first.value(), key.second.value()); }
  };

  Trace& m_trace;
  const Filter& m_filter;
  RunActivities m_run;
  std::map<ProcessId, ProcessWindows> m_windows;
  RunHost m_host;
  std::optional<RunCollectives> m_collectives;  // of several ranks or devices
  Activity m_firstWork = 0;
  std::vector<std::pair<ProcessId, Placed>> m_late;              // work that neither its launch nor its stream explains
  std::vector<Duration> m_latencies;                             // of work launched into an idle stream
  std::vector<Correlation> m_correlations;                       // of the work, in order of its activities
  std::unordered_map<StreamId, std::vector<Placed>> m_onStream;  // by launch once a wait was met
  std::unordered_map<ProcessId, std::vector<Activity>> m_ofProcess;
  std::unordered_map<StreamId, EndedWork> m_endedOnStream;
  std::unordered_map<ProcessId, EndedWork> m_endedOfProcess;
  std::unordered_map<ProcessId, std::vector<StreamId>> m_streamsOf;
  std::unordered_map<StringId, bool> m_waitsForDevice;  // calls
  std::unordered_map<ProcessId, FirstByKey<Correlation, Activity>> m_byCorrelation;
  FirstByKey<KernelId, Activity> m_kernels;  // that communicate
  std::unordered_map<CallKey, StreamId, KeyHash> m_waitedStream;
  std::unordered_map<CallKey, Activity, KeyHash> m_waitedWork;
  RunCollectives::Transfers m_transfers;
};

}  // namespace

Result<RunActivities> loadRunActivities(Trace& trace, const Filter& filter) { return Builder(trace, filter).run(); }

}  // namespace plumb
