// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis' launch statistics, queue lengths and memory bandwidths. Times in us.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/analyses/hta/hta_statistics.h"
#include "analyzer/analyses/hta/hta_trace.h"

namespace plumb::hta {

struct LaunchRow {
  int64_t correlation = 0;
  int64_t cpu = 0, gpu = 0, delay = 0;
};
// A row per launch call and piece of GPU work of one correlation id.
[[nodiscard]] std::vector<LaunchRow> launchStatistics(const Rank& rank);

struct QueuePoint {
  int64_t stream = 0, time = 0;
  int32_t by = 0;      // +1: a launch call; -1: the work that it launched begins
  uint32_t event = 0;  // index into the rank's calls, or its work
  int64_t length = 0;  // of the stream's queue from then on
};
[[nodiscard]] std::vector<QueuePoint> queueSeries(const Rank& rank);  // in order of time

struct QueueRow {
  int64_t stream = 0;
  Description length;   // over the points at which it changes
  int64_t blocked = 0;  // time at a length of 1024 and more
};
[[nodiscard]] std::vector<QueueRow> queueLengths(const Rank& rank);

// By kind of copy, "Memset": over the points of the series that are above 0.
[[nodiscard]] std::map<std::string, Description> memoryBandwidths(const Run& run, const Rank& rank);

}  // namespace plumb::hta
