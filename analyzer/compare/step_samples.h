// SPDX-License-Identifier: Apache-2.0
// What two runs can be compared by: the time of each kernel, operator, range and collective in each steady step, per
// rank. Warm-up steps are left out. A run without steps is one observation.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb::compare {

// Breakdown: where the GPU time of the step went (analyses/breakdown.h). MemoryCategory: what a category held at the
// memory's peak.
enum class Subject : uint8_t { Step, Breakdown, Kernel, Operator, Range, Collective, MemoryPeak, MemoryCategory };
[[nodiscard]] const char* nameOf(Subject subject);  // "step" "GPU time" "kernel" "memory peak" …
[[nodiscard]] bool isBytes(Subject subject);        // of memory; else a time

// The two times of Subject::Step (analyses/steps.h): from its start to that of the next one, which is what a user waits
// for, where all ranks have that; and its GPU span (without known GPU work its host range).
inline constexpr const char* kStartToStart = "step, from start to start";
inline constexpr const char* kGpuSpan = "step";

struct Series {
  std::vector<double> values;  // per steady step, the mean over ranks: ns, or bytes of memory
  double calls = 0;            // per step and rank
};

struct RunSamples {
  std::string path, command;
  int64_t steps = 0;            // steady ones; the least of any rank; 1 without steps
  bool hasGpuSpans = false;     // kGpuSpan is that of any rank; false: of the host's ranges
  bool areRepetitions = false;  // no process declares steps: they are the repetitions of its kernels
  bool hasSteps = false;        // false: the whole trace is the one observation
  int64_t ranks = 0;
  std::map<std::pair<Subject, std::string>, Series> series;
};

// Kernels, copies and sets belong to the step in whose host range their launch call began (without a known launch: to
// the one in whose GPU span they start); operators, ranges and calls to the one that they begin in. Collectives are
// named by operation and bytes and timed by their kernels.
[[nodiscard]] Result<RunSamples> sampleRun(Trace& trace);

}  // namespace plumb::compare
