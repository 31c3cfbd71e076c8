// SPDX-License-Identifier: Apache-2.0
// How far a trace can be believed: what was lost, what is doubtful, what is missing, and how much of the GPU work is
// tied to its launch.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class Severity : uint8_t { Ok, Info, Warning, Error, CannotSay };
[[nodiscard]] const char* nameOf(Severity severity);

struct HealthFinding {
  std::optional<ProcessId> process;  // none: the file as a whole
  std::string check;                 // stable name
  std::string subject;               // lane, plugin, code …; "": the process
  Severity severity = Severity::Ok;
  std::optional<double> value;
  std::string unit;  // of value: "events", "%", "ranks" …
  std::string message;
};

// What is wrong with the file, the ranks, the plugins, and the diagnostics are of the whole recording; what the
// profiler cost and how much GPU work is tied to its launch are of the filter's time. With a rank only its processes
// and the file's own findings. Errors first.
[[nodiscard]] Result<std::vector<HealthFinding>> checkHealth(Trace& trace, const Filter& filter);

// How much of a step's GPU work is known to belong to it. Work belongs to the step in whose host range its launch call
// began. A filter keeps the steps that begin inside it.
struct StepCoverage {
  ProcessId process;
  std::optional<int64_t> step;
  int64_t gpuEventCount = 0;  // that ran in the step's GPU window, from the first start to the last end of its work
  int64_t withoutLaunchCount = 0;  // of these, without a launch call in the trace
  int64_t launchCount = 0;         // launch calls in the step's host range
  int64_t withoutWorkCount = 0;    // of these, without GPU work in the trace
};
[[nodiscard]] Result<std::vector<StepCoverage>> measureCoverage(Trace& trace, const Filter& filter);

}  // namespace plumb
