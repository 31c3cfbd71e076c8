// SPDX-License-Identifier: Apache-2.0
// Training steps: time per step, and where it went. A step is a declared range (view `steps`), or in a process without
// one a repetition of its kernels (period_steps.h). A declared step's GPU span is from the
// first start to the last end of the GPU work whose launch call began inside the step's host range, on any thread of
// the process; its breakdown is over that window. What lies between two spans (loading data) is in the time from start
// to start. The devices of one process are taken as one: the span is of the work on all of them, compute is time in
// which a kernel runs on any of them, and idle is time in which none of them works.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class StepSource : uint8_t { Declared, Period };
[[nodiscard]] const char* nameOf(StepSource source);  // "declared" "period"

struct Step {
  int64_t number = 0;            // counts from 0 within its process
  RangeId range;                 // 0 of a repetition
  Interval host;                 // of a repetition: the launches
  std::optional<Breakdown> gpu;  // none: no GPU work is known to have been launched in it
  std::vector<Breakdown> parts;  // of each of RankSteps::devices alone, over the window of `gpu`; empty without that
  // From the start of its GPU span to that of the next step's; of host ranges where no step has known GPU work. None:
  // the next step is not known: there is none, or it bears not the next number.
  std::optional<Duration> startToStart;
  std::optional<size_t> next;   // where that step is among its process's
  int64_t gpuEventCount = 0;    // known to have been launched in it
  int64_t gpuEventsWithin = 0;  // that start in its GPU span, wherever they were launched
  bool isWarmup = false;
};

// Percentiles interpolate linearly between neighbours (as numpy's default does). Of fewer than kLeastForPercentiles
// steps they say nothing that the shortest and the longest do not.
struct StepStatistics {
  int64_t count = 0;  // steady steps: warm-up left out
  Duration median, p10, p90, shortest, longest;
};
inline constexpr int64_t kLeastForPercentiles = 10;

struct RankSteps {
  ProcessId process;
  std::optional<int64_t> rank;
  std::vector<DeviceId> devices;  // that have work in the GPU span of a step
  StepSource source = StepSource::Declared;
  std::vector<Step> steps;
  int64_t warmupCount = 0;
  int64_t openCount = 0;                     // step ranges that never ended: not in `steps`
  bool timesAreGpuSpans = false;             // false: statistics are of host ranges, because no step has known GPU work
  std::optional<StepStatistics> statistics;  // none: no steady step
  std::optional<StepStatistics> startToStart;  // of the steady steps with a next one
};

// What is to be known of repetitions that nothing declares to be steps, as a clause: "no steps are marked; …".
[[nodiscard]] const char* repetitionCaveat();

// The rule by which the first steps are called warm-up, as a sentence for the user.
[[nodiscard]] const char* warmupRule();

// Processes with at least one step, in order of rank.
[[nodiscard]] Result<std::vector<RankSteps>> findSteps(Trace& trace);

// How many leading values of one rank differ from the rest (the rule above). Pure.
[[nodiscard]] size_t countWarmup(const std::vector<Duration>& stepTimes);
// q in 0..1 of values in any order; requires at least one value.
[[nodiscard]] Duration percentile(std::vector<Duration> values, double q);

}  // namespace plumb
