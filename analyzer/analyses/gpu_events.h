// SPDX-License-Identifier: Apache-2.0
// The GPU work of a trace, sorted into compute, communication and memory; what most analyses start from.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/analyses/event_rows.h"
#include "analyzer/intervals/intervals.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class GpuEventKind : uint8_t { Compute, Communication, Memory };

// How communication was told from compute: by collective records, or by the kernels' names because the process has no
// collective record that leads to a kernel, or not of every collective. A table that rests on names says so.
enum class CommunicationSource : uint8_t { Records, Names };

// " (communication: by name)" for Names, "" for Records.
[[nodiscard]] std::string_view noteOf(CommunicationSource source);

// True for the names of communication libraries' kernels: those that hold one of the parts, whatever the case.
[[nodiscard]] bool isCommunicationName(std::string_view kernelName);
[[nodiscard]] std::span<const std::string_view> communicationNameParts();  // in lower case

// Which kernels, copies and sets are communication.
class CommunicationClassifier {
 public:
  [[nodiscard]] static Result<CommunicationClassifier> load(Trace& trace);
  [[nodiscard]] CommunicationSource source(ProcessId process) const;
  // By records; for a process without them, or with records of some collectives only, also by the kernel's name.
  [[nodiscard]] bool isCommunication(ProcessId process, Correlation correlation, StringId kernelName);
  // Which of the three a piece of work is; kernels by their full name, because the short one lacks the namespace by
  // which some libraries are known.
  [[nodiscard]] GpuEventKind kindOf(const WorkRow& work);
  // A copy or set is communication only when a record says so.
  [[nodiscard]] bool isCommunication(ProcessId process, Correlation correlation) const;

 private:
  explicit CommunicationClassifier(Trace& trace) : m_trace(&trace) {}
  Trace* m_trace;
  std::unordered_map<ProcessId, std::unordered_set<Correlation>> m_correlations;
  std::unordered_set<ProcessId> m_incomplete;  // have records of some collectives only; the others go by name
  std::unordered_map<StringId, bool> m_byName;
};

// One kernel, copy or set.
struct GpuEvent {
  ProcessId process;
  DeviceId device;
  Correlation correlation;
  GpuEventKind kind = GpuEventKind::Compute;
  bool isTimed = true;  // false: no usable time, `time` is empty
  Interval time;
};
// Every kernel, copy and set, in the order of the tables.
[[nodiscard]] Status forEachGpuEvent(Trace& trace, CommunicationClassifier& classifier,
                                     const std::function<void(const GpuEvent&)>& take);

// All GPU work of one device as one process sees it.
struct GpuActivity {
  ProcessId process;
  std::optional<int64_t> rank;
  DeviceId device;
  IntervalSet compute, communication, memory;
  Interval hull;  // first start to last end, zero-length events included
  CommunicationSource communicationSource = CommunicationSource::Records;
  int64_t eventCount = 0;
  int64_t untimedEventCount = 0;
};

// In order of rank (processes without one last), then device.
[[nodiscard]] Result<std::vector<GpuActivity>> loadGpuActivity(Trace& trace);
// The same, but the sets are only of events for which `keepsTime` is true.
[[nodiscard]] Result<std::vector<GpuActivity>> loadGpuActivity(Trace& trace,
                                                               const std::function<bool(const GpuEvent&)>& keepsTime);

}  // namespace plumb
