// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/run_host.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analyzer/analyses/data_loading.h"
#include "analyzer/analyses/event_rows.h"
#include "analyzer/analyses/host_activity.h"
#include "analyzer/intervals/sort_runs.h"

namespace plumb {
namespace {

// A thread that polls asks in the end too, and nothing follows from it.
bool onlyAsks(std::string_view apiName) {
  return apiName.find("EventQuery") != std::string_view::npos || apiName.find("StreamQuery") != std::string_view::npos;
}

}  // namespace

Status RunHost::addAll() {
  auto copies = PageableCopies::load(m_trace);
  if (!copies.ok()) return copies.error();
  m_copies = std::move(copies).value();
  CallsByThread threads;
  if (const Status read = readCalls(threads); !read.ok()) return read;
  size_t count = 0;
  for (const auto& [key, calls] : threads) count += calls.size() * 2;
  m_run.info.reserve(count);
  if (const Status loaded = loadPauses(threads); !loaded.ok()) return loaded;
  for (auto& [key, calls] : threads) {
    m_run.places.push_back({key.first, key.second, {}});
    addThread(key.first, calls);
  }
  for (auto& [process, launches] : m_launches) launches.seal();
  endPauses();
  return Unit{};
}

const RunHost::Launch* RunHost::launchOf(ProcessId process, Correlation correlation) const {
  const auto launches = m_launches.find(process);
  return launches == m_launches.end() ? nullptr : launches->second.find(correlation);
}

RunHost::Activity RunHost::add(Interval time, const ActivityInfo& info) {
  m_run.info.push_back(info);
  return m_run.graph.add(time);
}

const ProcessWindows* RunHost::windowsOf(ProcessId process) {  // neighbours in the file are mostly of one process
  if (!m_lastWindows || m_lastWindows->process != process) {
    const auto found = m_windows.find(process);
    m_lastWindows = found == m_windows.end() ? nullptr : &found->second;
  }
  return m_lastWindows;
}

bool RunHost::test(StringId name, NameTests& tests, bool (*is)(std::string_view)) {
  const auto [known, isNew] = tests.emplace(name, false);
  if (isNew) known->second = is(m_trace.text(name));
  return known->second;
}

Status RunHost::readCalls(CallsByThread& calls) {
  std::vector<Call>* current = nullptr;
  std::pair<ProcessId, ThreadId> place;
  return forEachCall(m_trace, [&](const CallRow& call) {
    const ProcessWindows* window = windowsOf(call.process);
    if (!window || !call.isTimed || !window->host.contains(call.start) || test(call.name, m_asking, onlyAsks)) return;
    if (!current || place != std::pair(call.process, call.thread)) {
      place = {call.process, call.thread};
      current = &calls[place];
    }
    current->push_back({call.time, call.name, call.correlation});
  });
}

Status RunHost::loadPauses(const CallsByThread& threads) {
  auto loading = loadDataLoadingByThread(m_trace);
  if (!loading.ok()) return loading.error();
  m_run.loading = std::move(loading).value();
  std::set<ThreadId> all;
  for (auto key = threads.begin(); key != threads.end(); ++key) {
    all.insert(key->first.second);
    const auto next = std::next(key);
    if (next == threads.end() || next->first.first != key->first.first) continue;
    m_withOthers.insert({key->first.second, next->first.second});
  }
  auto pauses = ThreadPauses::load(m_trace, all, m_run.loading);
  if (!pauses.ok()) return pauses.error();
  m_pauses = std::move(pauses).value();
  return Unit{};
}

void RunHost::addThread(ProcessId process, std::vector<Call>& calls) {
  sortRuns(calls, [](const Call& a, const Call& b) {
    return std::pair(a.time.start, b.time.end) < std::pair(b.time.start, a.time.end);
  });
  const auto hull = m_pauses.hullIn(m_run.places.back().thread, windowsOf(process)->host);
  TimePoint begin = calls.front().time.start;
  if (hull) begin = std::min(begin, hull->start);
  auto& launches = m_launches[process];
  std::optional<Activity> previous;
  for (const Call& call : calls) {
    // Inside of another: a driver's in a runtime's. The code stands before its call.
    const bool isInside = previous && call.time.start < m_run.graph.time(*previous).end;
    if (!isInside) previous = addCall(process, call, previous, begin);
    launches.add(call.correlation, {*previous - 1, call.time.start});
  }
  if (!hull || hull->end <= m_run.graph.time(*previous).end) return;
  addCode(process, previous, begin, hull->end);
}

// Of the part that holds the time.
TimePoint RunHost::windowStart(ProcessId process, TimePoint t) const {
  const std::vector<Interval>& parts = m_windows.at(process).host.parts();
  return std::partition_point(parts.begin(), parts.end(), [t](const Interval& part) { return part.end <= t; })->start;
}

// The code from `begin` or the end of what was before until then; the part behind the longest pause stands alone.
RunHost::Activity RunHost::addCode(ProcessId process, std::optional<Activity> previous, TimePoint begin, TimePoint to) {
  const auto place = static_cast<uint32_t>(m_run.places.size() - 1);
  const ThreadId thread = m_run.places[place].thread;
  TimePoint from = previous ? m_run.graph.time(*previous).end : begin;
  std::optional<Interval> pause;
  if (m_withOthers.contains(thread))
    pause = m_pauses.longestIn(thread, {previous ? from : windowStart(process, to), to});
  if (pause) {
    if (from < pause->start) {
      const Activity before = add({from, pause->start}, {.place = place});
      if (previous) m_run.graph.depend(before, *previous);
      previous = before;
    }
    from = std::max(from, pause->end);
  }
  const Activity code = add({from, to}, {.place = place});
  if (previous) m_run.graph.depend(code, *previous);
  if (pause) m_resumed.push_back({code, process, *pause});
  return code;
}

// The code before the call, and then the call, or its return for one that blocks. Gives the latter.
RunHost::Activity RunHost::addCall(ProcessId process, const Call& call, std::optional<Activity> previous,
                                   TimePoint begin) {
  const Activity code = addCode(process, previous, begin, call.time.start);
  const auto place = static_cast<uint32_t>(m_run.places.size() - 1);
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

// How threads wait for each other is not recorded. What a thread did after a long pause waited for what another thread
// of the process did until late in that pause.
void RunHost::endPauses() {
  std::map<ProcessId, EndedWork> calls;
  for (const Resumed& resumed : m_resumed) calls.try_emplace(resumed.process);
  if (calls.empty()) return;
  for (Activity i = 0; i < m_run.graph.size(); ++i) {
    if (m_run.info[i].kind == ActivityKind::Code) continue;
    const auto mine = calls.find(m_run.placeOf(i).process);
    if (mine != calls.end()) mine->second.add(m_run.graph.time(i).end, i);
  }
  for (auto& [process, work] : calls) work.seal();
  for (const Resumed& resumed : m_resumed) {
    const auto cause = calls[resumed.process].lastBy(resumed.pause.end);
    if (!cause) continue;  // of the thread itself none ended in the pause
    const Duration after = resumed.pause.end - m_run.graph.time(*cause).end;
    if (after <= Duration(resumed.pause.length().ns() / 2)) m_run.graph.depend(resumed.code, *cause);
  }
}

}  // namespace plumb
