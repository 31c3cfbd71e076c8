// SPDX-License-Identifier: Apache-2.0
// The host's activities of a run: calls and the code around them, thread by thread.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/ended_work.h"
#include "analyzer/analyses/first_by_key.h"
#include "analyzer/analyses/pageable_copies.h"
#include "analyzer/analyses/run_activities.h"
#include "analyzer/analyses/thread_pauses.h"
#include "analyzer/analyses/windows.h"

namespace plumb {

class RunHost {
 public:
  using Activity = ActivityGraph::Activity;
  struct Launch {
    Activity code;    // before the call; the call is the activity behind it
    TimePoint start;  // of the call
  };
  // A blocking call returned.
  struct Returned {
    Activity activity;
    ProcessId process;
    Correlation correlation;
    TimePoint callEnd;
  };

  // Adds to the run; the windows by process.
  RunHost(Trace& trace, const std::map<ProcessId, ProcessWindows>& windows, RunActivities& run)
      : m_trace(trace), m_windows(windows), m_run(run) {}
  [[nodiscard]] Status addAll();

  [[nodiscard]] const Launch* launchOf(ProcessId process, Correlation correlation) const;
  [[nodiscard]] const std::vector<Returned>& returns() const { return m_returns; }

 private:
  struct Call {
    Interval time;
    StringId name;
    Correlation correlation;
  };
  using CallsByThread = std::map<std::pair<ProcessId, ThreadId>, std::vector<Call>>;
  using NameTests = std::unordered_map<StringId, bool>;
  struct Resumed {
    Activity code;  // after the pause
    ProcessId process;
    Interval pause;
  };

  [[nodiscard]] Status readCalls(CallsByThread& calls);
  [[nodiscard]] Status loadPauses(const CallsByThread& threads);
  void addThread(ProcessId process, std::vector<Call>& calls);
  Activity addCode(ProcessId process, std::optional<Activity> previous, TimePoint begin, TimePoint to);
  Activity addCall(ProcessId process, const Call& call, std::optional<Activity> previous, TimePoint begin);
  void endPauses();
  Activity add(Interval time, const ActivityInfo& info);
  [[nodiscard]] const ProcessWindows* windowsOf(ProcessId process);
  [[nodiscard]] TimePoint windowStart(ProcessId process, TimePoint t) const;
  bool test(StringId name, NameTests& tests, bool (*is)(std::string_view));

  Trace& m_trace;
  const std::map<ProcessId, ProcessWindows>& m_windows;
  RunActivities& m_run;
  const ProcessWindows* m_lastWindows = nullptr;
  std::map<ProcessId, FirstByKey<Correlation, Launch>> m_launches;
  NameTests m_blocking, m_asking;
  ThreadPauses m_pauses;
  std::set<ThreadId> m_withOthers;  // threads of processes that have several
  std::vector<Resumed> m_resumed;
  PageableCopies m_copies;
  std::vector<Returned> m_returns;
};

}  // namespace plumb
