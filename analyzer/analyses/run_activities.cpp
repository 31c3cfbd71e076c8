// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/run_activities.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/host_activity.h"
#include "analyzer/analyses/pageable_copies.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/trace/pair_hash.h"

namespace plumb {
namespace {

struct Call {
  Interval time;
  StringId name;
  Correlation correlation;
};
using CallsByThread = std::map<std::pair<ProcessId, ThreadId>, std::vector<Call>>;

bool holds(const IntervalSet& windows, TimePoint t) {
  const auto& parts = windows.parts();
  const auto part = std::partition_point(parts.begin(), parts.end(), [t](const Interval& p) { return p.end <= t; });
  return part != parts.end() && part->start <= t;
}

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
    for (auto& [key, returned] : m_returns) linkReturn(returned);
    m_run.graph.finish();
    return std::move(m_run);
  }

 private:
  using CallKey = std::pair<ProcessId, Correlation>;
  struct Placed {
    size_t activity;
    TimePoint launched;  // host time; the work's start where unknown
  };
  struct Returned {
    size_t activity;
    ProcessId process;
    Correlation correlation;
    Interval call;
  };

  size_t add(Interval time, ActivityInfo info) {
    m_run.info.push_back(std::move(info));
    return m_run.graph.add(time);
  }

  Status readCalls(CallsByThread& calls) {
    return forEachCall(m_trace, [&](const CallRow& call) {
      const auto window = m_windows.find(call.process);
      if (window == m_windows.end() || !call.isTimed || !holds(window->second.host, call.start)) return;
      calls[{call.process, call.thread}].push_back({call.time, call.name, call.correlation});
    });
  }

  Status addHost() {
    CallsByThread threads;
    if (const Status read = readCalls(threads); !read.ok()) return read;
    std::unordered_map<StringId, bool> blocking;
    for (auto& [key, calls] : threads) {
      std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
        return std::pair(a.time.start, b.time.end) < std::pair(b.time.start, a.time.end);
      });
      std::optional<size_t> previous;
      for (const Call& call : calls) {
        if (previous &&
            call.time.start < m_run.graph.time(*previous).end) {  // inside of another: a driver's in a runtime's
          m_launches.emplace(CallKey{key.first, call.correlation}, Launch{previousCode(*previous), call.time.start});
          continue;
        }
        previous = addCall(key.first, key.second, call, previous, blocking);
      }
    }
    return Unit{};
  }

  size_t previousCode(size_t activity) const { return m_codeBefore.at(activity); }

  // The code before the call, the call, and for one that blocks its return. Gives the last of them.
  size_t addCall(ProcessId process, ThreadId thread, const Call& call, std::optional<size_t> previous,
                 std::unordered_map<StringId, bool>& blocking) {
    const TimePoint from = previous ? m_run.graph.time(*previous).end : call.time.start;
    const size_t code =
        add({from, call.time.start}, {.kind = ActivityKind::Code, .process = process, .thread = thread});
    if (previous) m_run.graph.depend(code, *previous);
    auto known = blocking.find(call.name);
    if (known == blocking.end()) known = blocking.emplace(call.name, isBlockingCall(m_trace.text(call.name))).first;
    ActivityInfo info{.kind = ActivityKind::Call, .process = process, .thread = thread, .name = call.name};
    size_t last = 0;
    if (known->second || m_copies.waited(process, call.correlation, call.time.end)) {
      info.kind = ActivityKind::Return;
      last = add({call.time.end, call.time.end}, info);
      m_run.graph.depend(last, code);
      m_returns.push_back({code, {last, process, call.correlation, call.time}});
    } else {
      last = add(call.time, info);
      m_run.graph.depend(last, code);
    }
    m_codeBefore.emplace(last, code);
    m_launches.emplace(CallKey{process, call.correlation}, Launch{code, call.time.start});
    return last;
  }

  Status addWork() {
    auto timelines = loadDeviceTimelines(m_trace);
    if (!timelines.ok()) return timelines.error();
    for (const DeviceTimeline& timeline : timelines.value()) {
      const auto window = m_windows.find(timeline.process);
      if (window == m_windows.end()) continue;
      std::unordered_map<StreamId, size_t> last;
      for (const DeviceEvent& event : timeline.events) {
        if (!holds(window->second.gpu, event.time.start)) continue;
        const size_t activity = add(event.time, {.kind = ActivityKind::Work,
                                                 .work = event.kind,
                                                 .copyKind = event.copyKind,
                                                 .table = event.table,
                                                 .process = timeline.process,
                                                 .name = event.name});
        TimePoint launched = event.time.start;
        const auto launch = m_launches.find({timeline.process, event.correlation});
        if (launch != m_launches.end()) {
          m_run.graph.depend(activity, launch->second.code);
          launched = launch->second.start;
        }
        if (const auto before = last.find(event.stream); before != last.end()) {
          m_run.graph.depend(activity, before->second);
        }
        last[event.stream] = activity;
        m_onStream[event.stream].push_back({activity, launched});
        m_ofProcess[timeline.process].push_back(activity);
        m_byCorrelation.emplace(CallKey{timeline.process, event.correlation}, activity);
        if (event.table == WorkKind::Kernel) m_byKernel.emplace(KernelId(event.id), activity);
      }
    }
    const auto byEnd = [this](size_t a, size_t b) { return m_run.graph.time(a).end < m_run.graph.time(b).end; };
    for (auto& [process, work] : m_ofProcess) std::sort(work.begin(), work.end(), byEnd);
    for (auto& [stream, work] : m_onStream) {
      std::stable_sort(work.begin(), work.end(),
                       [](const Placed& a, const Placed& b) { return a.launched < b.launched; });
      auto& ended = m_endedOnStream[stream];
      for (const Placed& placed : work) ended.push_back(placed.activity);
      std::sort(ended.begin(), ended.end(), byEnd);
    }
    return Unit{};
  }

  // Of activities in order of their ends, the last that ended by then.
  [[nodiscard]] std::optional<size_t> lastEndedBy(const std::vector<size_t>& work, TimePoint t) const {
    const auto after = std::partition_point(work.begin(), work.end(),
                                            [&](size_t activity) { return m_run.graph.time(activity).end <= t; });
    return after == work.begin() ? std::nullopt : std::optional(*(after - 1));
  }
  // The first work of the stream that was launched at that time or later, and the last before.
  [[nodiscard]] std::pair<std::optional<size_t>, std::optional<size_t>> aroundLaunch(StreamId stream,
                                                                                     TimePoint t) const {
    const auto work = m_onStream.find(stream);
    if (work == m_onStream.end()) return {};
    const auto after = std::partition_point(work->second.begin(), work->second.end(),
                                            [t](const Placed& placed) { return placed.launched < t; });
    std::pair<std::optional<size_t>, std::optional<size_t>> result;
    if (after != work->second.end()) result.first = after->activity;
    if (after != work->second.begin()) result.second = (after - 1)->activity;
    return result;
  }

  Status addWaitsForEvents() {
    auto rows = m_trace.query(
        "SELECT y.process_id, y.correlation, y.stream_id, y.start_ns, y.kind, e.recorded_stream_id, "
        "e.recorded_correlation"
        " FROM main.synchronization y LEFT JOIN synchronization_event e ON e.synchronization_id = y.id"
        " WHERE y.stream_id IS NOT NULL");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      constexpr int64_t kStreamWaitsForEvent = 2;
      const CallKey key{row.id<ProcessId>(0), row.id<Correlation>(1)};
      const auto stream = row.id<StreamId>(2);
      if (row.integer(4) != kStreamWaitsForEvent) {
        m_waitedStream.emplace(key, stream);
        continue;
      }
      const auto call = m_launches.find(key);
      const TimePoint waited = call == m_launches.end() ? row.time(3) : call->second.start;
      const auto effect = aroundLaunch(stream, waited).first;
      if (!effect) continue;
      const auto recorded = row.isNull(6) ? m_launches.end() : m_launches.find({key.first, row.id<Correlation>(6)});
      std::optional<size_t> cause;
      if (!row.isNull(5) && recorded != m_launches.end()) {
        cause = aroundLaunch(row.id<StreamId>(5), recorded->second.start).second;
      } else {
        cause = lastEndedBy(m_ofProcess[key.first], m_run.graph.time(*effect).start);
      }
      if (cause) m_run.graph.depend(*effect, *cause);
    }
    return row.status();
  }

  void linkReturn(const Returned& returned) {
    const CallKey key{returned.process, returned.correlation};
    std::optional<size_t> cause;
    if (const auto own = m_byCorrelation.find(key); own != m_byCorrelation.end()) {
      cause = own->second;
    } else if (const auto stream = m_waitedStream.find(key); stream != m_waitedStream.end()) {
      cause = lastEndedBy(m_endedOnStream[stream->second], returned.call.end);
    } else {
      cause = lastEndedBy(m_ofProcess[returned.process], returned.call.end);
    }
    if (cause) m_run.graph.depend(returned.activity, finishOf(*cause));
  }

  // What stands for the end of the work: of a collective its transfer.
  [[nodiscard]] size_t finishOf(size_t work) const {
    const auto transfer = m_transfers.find(work);
    return transfer == m_transfers.end() ? work : transfer->second;
  }

  // A kernel of a matched collective becomes an arrival and a transfer that depends on every arrival.
  Status addCollectives();

  struct Launch {
    size_t code;      // before the call
    TimePoint start;  // of the call
  };
  struct KeyHash {
    size_t operator()(const CallKey& key) const { return pairHash(key.first.value(), key.second.value()); }
  };

  Trace& m_trace;
  const Filter& m_filter;
  RunActivities m_run;
  std::map<ProcessId, ProcessWindows> m_windows;
  std::unordered_map<CallKey, Launch, KeyHash> m_launches;
  std::unordered_map<size_t, size_t> m_codeBefore;
  PageableCopies m_copies;
  std::vector<std::pair<size_t, Returned>> m_returns;
  std::unordered_map<StreamId, std::vector<Placed>> m_onStream;       // by launch
  std::unordered_map<StreamId, std::vector<size_t>> m_endedOnStream;  // by end
  std::unordered_map<ProcessId, std::vector<size_t>> m_ofProcess;     // by end
  std::unordered_map<CallKey, size_t, KeyHash> m_byCorrelation;
  std::unordered_map<KernelId, size_t> m_byKernel;
  std::unordered_map<CallKey, StreamId, KeyHash> m_waitedStream;
  std::unordered_map<size_t, size_t> m_transfers;
};

Status Builder::addCollectives() {
  auto analysis = analyzeCollectives(m_trace);
  if (!analysis.ok()) return analysis.error();
  for (const CollectiveInstance& instance : analysis.value().instances) {
    std::vector<size_t> kernels;
    TimePoint last = kAllTime.start;
    for (const CollectiveMember& member : instance.members) {
      if (!member.kernel) continue;
      const auto kernel = m_byKernel.find(*member.kernel);
      if (kernel == m_byKernel.end() || m_run.info[kernel->second].kind != ActivityKind::Work) continue;
      kernels.push_back(kernel->second);
      last = std::max(last, m_run.graph.time(kernel->second).start);
    }
    if (kernels.size() < 2) continue;
    std::vector<size_t> transfers;
    for (const size_t kernel : kernels) {
      const Interval time = m_run.graph.time(kernel);
      ActivityInfo info = m_run.info[kernel];
      info.kind = ActivityKind::Transfer;
      const size_t transfer = add({std::clamp(last, time.start, time.end), time.end}, info);
      m_run.graph.becomeArrival(kernel, transfer);
      m_run.info[kernel].kind = ActivityKind::Arrival;
      m_transfers.emplace(kernel, transfer);
      transfers.push_back(transfer);
    }
    for (const size_t transfer : transfers) {
      for (const size_t kernel : kernels) m_run.graph.depend(transfer, kernel);
    }
  }
  return Unit{};
}

}  // namespace

Result<RunActivities> loadRunActivities(Trace& trace, const Filter& filter) { return Builder(trace, filter).run(); }

}  // namespace plumb
