// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/run_activities.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/host_activity.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/pageable_copies.h"
#include "analyzer/analyses/thread_pauses.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/sort_runs.h"
#include "analyzer/trace/pair_hash.h"

namespace plumb {
namespace {

using Activity = ActivityGraph::Activity;

// Work that begins later than this after it could is not late because launching takes its time.
constexpr Duration kLate{20'000};

struct Call {
  Interval time;
  StringId name;
  Correlation correlation;
};
// A thread that polls asks in the end too, and nothing follows from it.
bool onlyAsks(std::string_view apiName) {
  return apiName.find("EventQuery") != std::string_view::npos || apiName.find("StreamQuery") != std::string_view::npos;
}

using CallsByThread = std::map<std::pair<ProcessId, ThreadId>, std::vector<Call>>;

// Values by key; of several with one key the first that was added.
template <class Key, class Value>
class FirstByKey {
 public:
  void add(Key key, Value value) { m_entries.push_back({key, value}); }
  void seal() {
    sortRuns(m_entries, [](const Entry& a, const Entry& b) { return a.key < b.key; });
  }
  // Null: none. Cheap when keys are asked for in order.
  [[nodiscard]] const Value* find(Key key) const {
    m_hint = partitionPointNear(m_entries, m_hint, [&](const Entry& entry) { return entry.key < key; });
    return m_hint < m_entries.size() && m_entries[m_hint].key == key ? &m_entries[m_hint].value : nullptr;
  }

 private:
  struct Entry {
    Key key;
    Value value;
  };
  std::vector<Entry> m_entries;
  mutable size_t m_hint = 0;
};

class Builder {
 public:
  Builder(Trace& trace, const Filter& filter) : m_trace(trace), m_filter(filter) {}

  Result<RunActivities> run() {
    auto windows = findWindows(m_trace, m_filter);
    if (!windows.ok()) return windows.error();
    for (const ProcessWindows& window : windows.value()) m_windows.emplace(window.process, window);
    auto copies = PageableCopies::load(m_trace);
    if (!copies.ok()) return copies.error();
    m_copies = std::move(copies).value();
    for (const Status& done : {addHost(), addWork(), addWaitsForEvents(), addCollectives()}) {
      if (!done.ok()) return done.error();
    }
    for (const Returned& returned : m_returns) linkReturn(returned);
    m_run.graph.finish();
    return std::move(m_run);
  }

 private:
  using CallKey = std::pair<ProcessId, Correlation>;
  struct Launch {
    Activity code;    // before the call
    TimePoint start;  // of the call
  };
  struct Placed {
    Activity activity;
    TimePoint launched;  // host time; the work's start where unknown
  };
  struct Resumed {
    Activity code;  // after the pause
    ProcessId process;
    Interval pause;
  };
  struct Returned {
    Activity activity;
    ProcessId process;
    Correlation correlation;
    TimePoint callEnd;
  };

  Activity add(Interval time, const ActivityInfo& info) {
    m_run.info.push_back(info);
    return m_run.graph.add(time);
  }

  const ProcessWindows* windowsOf(ProcessId process) {  // neighbours in the file are mostly of one process
    if (!m_lastWindows || m_lastWindows->process != process) {
      const auto found = m_windows.find(process);
      m_lastWindows = found == m_windows.end() ? nullptr : &found->second;
    }
    return m_lastWindows;
  }

  Status readCalls(CallsByThread& calls) {
    std::vector<Call>* current = nullptr;
    std::pair<ProcessId, ThreadId> place;
    return forEachCall(m_trace, [&](const CallRow& call) {
      const ProcessWindows* window = windowsOf(call.process);
      if (!window || !call.isTimed || !contains(window->host, call.start) || test(call.name, m_asking, onlyAsks))
        return;
      if (!current || place != std::pair(call.process, call.thread)) {
        place = {call.process, call.thread};
        current = &calls[place];
      }
      current->push_back({call.time, call.name, call.correlation});
    });
  }

  Status addHost() {
    CallsByThread threads;
    if (const Status read = readCalls(threads); !read.ok()) return read;
    size_t count = 0;
    for (const auto& [key, calls] : threads) count += calls.size() * 2;
    m_run.info.reserve(count);
    if (const Status loaded = loadPauses(threads); !loaded.ok()) return loaded;
    for (auto& [key, calls] : threads) {
      sortRuns(calls, [](const Call& a, const Call& b) {
        return std::pair(a.time.start, b.time.end) < std::pair(b.time.start, a.time.end);
      });
      m_run.places.push_back({key.first, key.second});
      auto& launches = m_launches[key.first];
      std::optional<Activity> previous;
      for (const Call& call : calls) {
        // Inside of another: a driver's in a runtime's. The code stands before its call.
        if (previous && call.time.start < m_run.graph.time(*previous).end) {
          launches.add(call.correlation, {*previous - 1, call.time.start});
          continue;
        }
        previous = addCall(key.first, call, previous);
        launches.add(call.correlation, {*previous - 1, call.time.start});
      }
    }
    for (auto& [process, launches] : m_launches) launches.seal();
    endPauses();
    return Unit{};
  }

  // Of the part that holds the time.
  TimePoint windowStart(ProcessId process, TimePoint t) {
    const std::vector<Interval>& parts = windowsOf(process)->host.parts();
    return std::partition_point(parts.begin(), parts.end(), [t](const Interval& part) { return part.end <= t; })->start;
  }

  Status loadPauses(const CallsByThread& threads) {
    std::set<ThreadId> withOthers;
    for (auto key = threads.begin(); key != threads.end(); ++key) {
      const auto next = std::next(key);
      if (next == threads.end() || next->first.first != key->first.first) continue;
      withOthers.insert({key->first.second, next->first.second});
    }
    auto pauses = ThreadPauses::load(m_trace, withOthers);
    if (!pauses.ok()) return pauses.error();
    m_pauses = std::move(pauses).value();
    return Unit{};
  }

  // How threads wait for each other is not recorded. What a thread did after a long pause waited for what another
  // thread of the process did until late in that pause.
  void endPauses() {
    std::map<ProcessId, EndedWork> calls;
    for (const Resumed& resumed : m_resumed) calls.try_emplace(resumed.process);
    if (calls.empty()) return;
    for (Activity i = 0; i < m_run.graph.size(); ++i) {
      if (m_run.info[i].kind == ActivityKind::Code) continue;
      const auto mine = calls.find(m_run.placeOf(i).process);
      if (mine != calls.end()) mine->second.push_back({m_run.graph.time(i).end, i});
    }
    for (auto& [process, work] : calls) sortByEnd(work);
    for (const Resumed& resumed : m_resumed) {
      const auto cause = lastEndedBy(calls[resumed.process], resumed.pause.end);
      if (!cause) continue;  // of the thread itself none ended in the pause
      const Duration after = resumed.pause.end - m_run.graph.time(*cause).end;
      if (after <= Duration(resumed.pause.length().ns() / 2)) m_run.graph.depend(resumed.code, *cause);
    }
  }

  using NameTests = std::unordered_map<StringId, bool>;
  bool test(StringId name, NameTests& tests, bool (*is)(std::string_view)) {
    const auto [known, isNew] = tests.emplace(name, false);
    if (isNew) known->second = is(m_trace.text(name));
    return known->second;
  }

  // The code before the call, and then the call, or its return for one that blocks. Gives the latter.
  Activity addCall(ProcessId process, const Call& call, std::optional<Activity> previous) {
    const auto place = static_cast<uint32_t>(m_run.places.size() - 1);
    TimePoint from = previous ? m_run.graph.time(*previous).end : call.time.start;
    const TimePoint quietFrom = previous ? from : windowStart(process, from);
    const auto pause = m_pauses.longestIn(m_run.places[place].thread, {quietFrom, call.time.start});
    if (previous && pause) {
      const Activity before = add({from, pause->start}, {.kind = ActivityKind::Code, .place = place});
      m_run.graph.depend(before, *previous);
      previous = before;
      from = pause->end;
    }
    const Activity code = add({from, call.time.start}, {.kind = ActivityKind::Code, .place = place});
    if (previous) m_run.graph.depend(code, *previous);
    if (pause) m_resumed.push_back({code, process, *pause});
    ActivityInfo info{.kind = ActivityKind::Call, .place = place, .name = call.name};
    Interval time = call.time;
    const bool waits =
        test(call.name, m_blocking, isBlockingCall) || m_copies.waited(process, call.correlation, call.time.end);
    if (waits) {
      info.kind = ActivityKind::Return;
      time.start = time.end;
    }
    const Activity last = add(time, info);
    m_run.graph.depend(last, code);
    if (waits) m_returns.push_back({last, process, call.correlation, call.time.end});
    return last;
  }

  Status addWork() {
    auto timelines = loadDeviceTimelines(m_trace);
    if (!timelines.ok()) return timelines.error();
    m_firstWork = static_cast<Activity>(m_run.graph.size());
    for (DeviceTimeline& timeline : timelines.value()) {
      if (const ProcessWindows* window = windowsOf(timeline.process)) addDevice(timeline, *window);
      timeline.events = {};
    }
    return Unit{};
  }

  void addDevice(const DeviceTimeline& timeline, const ProcessWindows& window) {
    m_run.places.push_back({timeline.process, {}});
    const auto place = static_cast<uint32_t>(m_run.places.size() - 1);
    m_run.info.reserve(m_run.info.size() + timeline.events.size());
    const auto& launches = m_launches[timeline.process];
    std::unordered_map<StreamId, Activity> last;
    std::vector<Interval> compute, communication;
    for (const DeviceEvent& event : timeline.events) {
      if (event.kind == GpuEventKind::Compute) compute.push_back(event.time);
      if (event.kind == GpuEventKind::Communication) communication.push_back(event.time);
      if (!contains(window.gpu, event.time.start)) continue;
      const Activity activity = add(event.time, {.kind = ActivityKind::Work,
                                                 .work = event.kind,
                                                 .copyKind = event.copyKind,
                                                 .table = event.table,
                                                 .place = place,
                                                 .name = event.name});
      TimePoint launched = event.time.start;
      if (const Launch* launch = launches.find(event.correlation)) {
        m_run.graph.depend(activity, launch->code);
        launched = launch->start;
      }
      const auto [before, isFirst] = last.emplace(event.stream, activity);
      if (event.time.start - launched > kLate &&
          (isFirst || event.time.start - m_run.graph.time(before->second).end > kLate)) {
        m_late.push_back({timeline.process, {activity, launched}});
      }
      if (!isFirst) m_run.graph.depend(activity, std::exchange(before->second, activity));
      m_onStream[event.stream].push_back({activity, launched});
      m_ofProcess[timeline.process].push_back(activity);
      m_correlations.push_back(event.correlation);
      if (event.table == WorkKind::Kernel && m_windows.size() > 1) m_kernels.add(KernelId(event.id), activity);
    }
    m_run.exposed.emplace_back(timeline.process, intersect(subtract(IntervalSet::unionOf(std::move(communication)),
                                                                    IntervalSet::unionOf(std::move(compute))),
                                                           window.gpu));
  }

  // In order of ends as recorded, which later change for what becomes an arrival.
  struct Ended {
    TimePoint end;
    Activity activity;
  };
  using EndedWork = std::vector<Ended>;

  static void sortByEnd(EndedWork& work) {
    sortRuns(work, [](const Ended& a, const Ended& b) { return a.end < b.end; });
  }
  void orderByEnd() {
    if (!m_endedOfProcess.empty()) return;
    for (const auto& [process, work] : m_ofProcess) {
      EndedWork& ended = m_endedOfProcess[process];
      ended.reserve(work.size());
      for (const Activity activity : work) ended.push_back({m_run.graph.time(activity).end, activity});
      sortByEnd(ended);
    }
    for (const auto& [stream, work] : m_onStream) {
      EndedWork& ended = m_endedOnStream[stream];
      for (const Placed& placed : work) ended.push_back({m_run.graph.time(placed.activity).end, placed.activity});
      sortByEnd(ended);
    }
  }
  void orderByLaunch() {
    for (auto& [stream, work] : m_onStream) {
      sortRuns(work, [](const Placed& a, const Placed& b) { return a.launched < b.launched; });
    }
  }

  // The last that ended by then.
  [[nodiscard]] static std::optional<Activity> lastEndedBy(const EndedWork& work, TimePoint t) {
    const auto after =
        std::partition_point(work.begin(), work.end(), [t](const Ended& ended) { return ended.end <= t; });
    return after == work.begin() ? std::nullopt : std::optional(std::prev(after)->activity);
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

  const Launch* launchOf(ProcessId process, Correlation correlation) const {
    const auto launches = m_launches.find(process);
    return launches == m_launches.end() ? nullptr : launches->second.find(correlation);
  }

  Status addWaitsForEvents() {
    if (!m_returns.empty()) orderByEnd();
    auto rows = m_trace.query(
        "SELECT y.process_id, y.correlation, y.stream_id, y.start_ns, y.kind, e.recorded_stream_id, "
        "e.recorded_correlation"
        " FROM main.synchronization y LEFT JOIN synchronization_event e ON e.synchronization_id = y.id"
        " WHERE y.stream_id IS NOT NULL");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    bool isOrdered = false;
    std::set<ProcessId> recorded;  // of which waits for events are recorded
    while (row.next()) {
      constexpr int64_t kStreamWaitsForEvent = 2;
      const CallKey key{row.id<ProcessId>(0), row.id<Correlation>(1)};
      const auto stream = row.id<StreamId>(2);
      if (row.integer(4) != kStreamWaitsForEvent) {
        m_waitedStream.emplace(key, stream);
        continue;
      }
      recorded.insert(key.first);
      if (!std::exchange(isOrdered, true)) {
        orderByEnd();
        orderByLaunch();
      }
      const Launch* call = launchOf(key.first, key.second);
      const auto effect = aroundLaunch(stream, call ? call->start : row.time(3)).first;
      if (!effect) continue;
      const Launch* record = row.isNull(6) ? nullptr : launchOf(key.first, row.id<Correlation>(6));
      std::optional<Activity> cause;
      if (!row.isNull(5) && record) {
        cause = aroundLaunch(row.id<StreamId>(5), record->start).second;
      } else {
        cause = lastEndedBy(m_endedOfProcess[key.first], m_run.graph.time(*effect).start);
      }
      if (cause) m_run.graph.depend(*effect, *cause);
    }
    inferWaits(recorded);
    return row.status();
  }

  // Most profilers record no waits for events. What was launched long ago, and does not follow on its own stream,
  // waited for the work that ended just before it, or for the room that this took.
  void inferWaits(const std::set<ProcessId>& recorded) {
    if (!m_late.empty()) orderByEnd();
    for (const auto& [process, work] : m_late) {
      if (recorded.contains(process)) continue;
      const TimePoint start = m_run.graph.time(work.activity).start;
      const auto cause = lastEndedBy(m_endedOfProcess[process], start);
      if (!cause) continue;
      const TimePoint end = m_run.graph.time(*cause).end;
      if (start - end <= kLate && end - work.launched > kLate) m_run.graph.depend(work.activity, *cause);
    }
  }

  // The first work of each correlation id.
  const Activity* workOf(ProcessId process, Correlation correlation) {
    auto [known, isNew] = m_byCorrelation.try_emplace(process);
    if (isNew) {
      for (const Activity activity : m_ofProcess[process]) {
        known->second.add(m_correlations[activity - m_firstWork], activity);
      }
      known->second.seal();
    }
    return known->second.find(correlation);
  }

  void linkReturn(const Returned& returned) {
    std::optional<Activity> cause;
    if (const Activity* own = workOf(returned.process, returned.correlation)) {
      cause = *own;
    } else if (const auto stream = m_waitedStream.find({returned.process, returned.correlation});
               stream != m_waitedStream.end()) {
      cause = lastEndedBy(m_endedOnStream[stream->second], returned.callEnd);
    } else {
      cause = lastEndedBy(m_endedOfProcess[returned.process], returned.callEnd);
    }
    if (cause) m_run.graph.depend(returned.activity, finishOf(*cause));
  }

  // What stands for the end of the work: of a collective its transfer.
  [[nodiscard]] Activity finishOf(Activity work) const {
    const auto transfer = m_transfers.find(work);
    return transfer == m_transfers.end() ? work : transfer->second;
  }

  // A kernel of a matched collective becomes an arrival and a transfer that depends on every arrival.
  Status addCollectives();
  void splitKernels(const std::vector<Activity>& kernels, TimePoint lastArrival);

  struct KeyHash {
    size_t operator()(const CallKey& key) const { return pairHash(key.first.value(), key.second.value()); }
  };

  Trace& m_trace;
  const Filter& m_filter;
  RunActivities m_run;
  std::map<ProcessId, ProcessWindows> m_windows;
  const ProcessWindows* m_lastWindows = nullptr;
  std::map<ProcessId, FirstByKey<Correlation, Launch>> m_launches;
  NameTests m_blocking, m_asking;
  ThreadPauses m_pauses;
  std::vector<Resumed> m_resumed;
  PageableCopies m_copies;
  std::vector<Returned> m_returns;
  Activity m_firstWork = 0;
  std::vector<std::pair<ProcessId, Placed>> m_late;              // work that neither its launch nor its stream explains
  std::vector<Correlation> m_correlations;                       // of the work, in order of its activities
  std::unordered_map<StreamId, std::vector<Placed>> m_onStream;  // by launch once a wait was met
  std::unordered_map<ProcessId, std::vector<Activity>> m_ofProcess;
  std::unordered_map<StreamId, EndedWork> m_endedOnStream;
  std::unordered_map<ProcessId, EndedWork> m_endedOfProcess;
  std::unordered_map<ProcessId, FirstByKey<Correlation, Activity>> m_byCorrelation;
  FirstByKey<KernelId, Activity> m_kernels;
  std::unordered_map<CallKey, StreamId, KeyHash> m_waitedStream;
  std::unordered_map<Activity, Activity> m_transfers;
};

Status Builder::addCollectives() {
  if (m_windows.size() < 2) return Unit{};  // a rank has one part in each
  auto analysis = analyzeCollectives(m_trace);
  if (!analysis.ok()) return analysis.error();
  m_kernels.seal();
  for (const CollectiveInstance& instance : analysis.value().instances) {
    std::vector<Activity> kernels;
    TimePoint last = kAllTime.start;
    for (const CollectiveMember& member : instance.members) {
      if (!member.kernel) continue;
      const Activity* kernel = m_kernels.find(*member.kernel);
      if (!kernel || m_run.info[*kernel].kind != ActivityKind::Work) continue;
      kernels.push_back(*kernel);
      last = std::max(last, m_run.graph.time(*kernel).start);
    }
    if (kernels.size() > 1) splitKernels(kernels, last);
  }
  return Unit{};
}

void Builder::splitKernels(const std::vector<Activity>& kernels, TimePoint lastArrival) {
  std::vector<Activity> transfers;
  for (const Activity kernel : kernels) {
    const Interval time = m_run.graph.time(kernel);
    ActivityInfo info = m_run.info[kernel];
    info.kind = ActivityKind::Transfer;
    const Activity transfer = add({std::clamp(lastArrival, time.start, time.end), time.end}, info);
    m_run.graph.becomeArrival(kernel, transfer);
    m_run.info[kernel].kind = ActivityKind::Arrival;
    m_transfers.emplace(kernel, transfer);
    transfers.push_back(transfer);
  }
  for (const Activity transfer : transfers) {
    for (const Activity kernel : kernels) m_run.graph.depend(transfer, kernel);
  }
}

}  // namespace

Result<RunActivities> loadRunActivities(Trace& trace, const Filter& filter) { return Builder(trace, filter).run(); }

}  // namespace plumb
