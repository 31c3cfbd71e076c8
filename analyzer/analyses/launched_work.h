// SPDX-License-Identifier: Apache-2.0
// GPU work beside the host call that launched it, and the test whether an event belongs to a filter.
#pragma once
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "analyzer/analyses/event_rows.h"
#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// One CUDA call on the host.
struct HostCall {
  Correlation correlation;
  ThreadId thread;
  StringId name;
  Interval time;
};

// The calls of a trace that have a correlation id and a usable time, found by it. Not thread-safe.
class HostCallIndex {
 public:
  [[nodiscard]] static Result<HostCallIndex> load(Trace& trace);
  // Of nested calls with one id the outermost; null: no such call in the trace. Cheap when ids are asked for in order.
  [[nodiscard]] const HostCall* find(ProcessId process, Correlation correlation) const;

 private:
  struct Calls {
    std::vector<HostCall> sorted;  // by correlation, start, longest first
    mutable size_t hint = 0;       // of the last answer
  };
  std::unordered_map<ProcessId, Calls> m_calls;
};

// One kernel, copy or set with a usable time.
struct LaunchedWork {
  WorkKind what = WorkKind::Kernel;
  GpuEventKind kind = GpuEventKind::Compute;
  ProcessId process;
  DeviceId device;
  StreamId stream;
  Correlation correlation;
  StringId name, shortName;  // kernels
  int64_t id = 0;            // row of its table
  Interval time;
  const HostCall* call = nullptr;  // null: its launch is not in the trace
};

// In the order of the tables kernel, memory_copy, memory_set.
[[nodiscard]] Status forEachLaunchedWork(Trace& trace, CommunicationClassifier& classifier, const HostCallIndex& calls,
                                         const std::function<void(const LaunchedWork&)>& take);

// Which events a filter leaves: those that begin inside a window of their process (windows.h).
class EventFilter {
 public:
  [[nodiscard]] static Result<EventFilter> load(Trace& trace, const Filter& filter);
  [[nodiscard]] bool keepsOnHost(ProcessId process, TimePoint start) const { return keeps(process, start, true); }
  [[nodiscard]] bool keepsOnGpu(ProcessId process, TimePoint start) const { return keeps(process, start, false); }
  [[nodiscard]] bool keepsAll() const { return m_keepsAll; }
  // Null for a process that the filter leaves out.
  [[nodiscard]] const ProcessWindows* windowsOf(ProcessId process) const;

 private:
  [[nodiscard]] bool keeps(ProcessId process, TimePoint start, bool onHost) const;
  bool m_keepsAll = false;
  std::unordered_map<ProcessId, ProcessWindows> m_windows;
};

// The place of each process in order of rank.
[[nodiscard]] std::unordered_map<ProcessId, size_t> orderOfProcesses(const Trace& trace);

// True when a part of the set holds the moment. O(log n).
[[nodiscard]] bool contains(const IntervalSet& set, TimePoint time);

}  // namespace plumb
