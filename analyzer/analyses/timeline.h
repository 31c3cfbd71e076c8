// SPDX-License-Identifier: Apache-2.0
// Reads what a timeline shows from a trace.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "analyzer/analyses/timeline_data.h"
#include "analyzer/trace/trace.h"

namespace plumb::timeline {

// Called now and then with the share that is done (0 … 1); false stops the loading with an error.
using Progress = std::function<bool(double)>;

// Tracks per process, by rank: steps, per thread NVTX ranges, API calls and calls of the operating system, collectives
// per communicator, streams, and at last the threads that launched nothing. Events without a usable time are counted in
// untimedCount and left out. A collective stands where its kernel ran, or, without a kernel, where the host called it.
// NVTX ranges are shown a second time where the kernels, copies and sets (not the communication) that were launched in
// them ran. A range that never ended reaches to the end of the recording.
[[nodiscard]] Result<Timeline> loadTimeline(Trace& trace, const Progress& progress = {});

// Everything that the file holds about one event, as texts for people: column, value with unit.
struct DetailField {
  std::string name;
  std::string value;
};
[[nodiscard]] Result<std::vector<DetailField>> loadDetails(Trace& trace, SliceKind kind, int64_t id);

}  // namespace plumb::timeline
