// SPDX-License-Identifier: Apache-2.0
// What HolisticTraceAnalysis keeps of a rank's threads: operators, annotations, Python functions and API calls.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/hta/hta_trace.h"

namespace plumb::hta {

struct HostEvent {
  int64_t ts = 0, dur = 0;  // us
  ThreadId thread;
  StringId name;
  bool isNode = false;         // an operator or a call: its categories cpu_op, cuda_runtime and cuda_driver
  std::optional<size_t> call;  // index into Rank::calls
};

// What part of the trace an analysis is about, in its terms: the instance-th range whose name contains the annotation.
struct Annotation {
  std::string name;
  int64_t instance = 0;  // from 0, in the order of the file
};

struct Period {
  int64_t start = 0, end = 0;  // us; both belong to it
};

// In an order that has the outer one first of those of one time: annotations, Python functions, operators, calls.
[[nodiscard]] Result<std::vector<HostEvent>> loadHostEvents(Trace& trace, const Rank& rank);

// None: the rank has no such range, or not so many.
[[nodiscard]] Result<std::optional<Period>> annotatedPeriod(Trace& trace, const Rank& rank,
                                                            const Annotation& annotation);
// The step's range on the host: ProfilerStep, or what the program calls its steps.
[[nodiscard]] Result<std::optional<Period>> stepPeriod(Trace& trace, const Rank& rank, int64_t step);

}  // namespace plumb::hta
