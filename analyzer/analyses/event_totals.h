// SPDX-License-Identifier: Apache-2.0
// Totals of kernels, API calls, copies and sets, graphs and counters, as nsys' *_sum reports have them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analyses/statistics.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// What kernels are told apart by. FullName: with namespaces, template arguments and parameters. Grid: short name,
// blocks and threads. Range, Operator: short name and the innermost NVTX range or operator that launched it.
enum class KernelGrouping : uint8_t { Name, FullName, MangledName, Grid, Range, Operator };

struct EventTotals {
  ProcessId process;
  StringId name;
  std::string detail;              // kernels by Grid, Range, Operator; API calls: layer; "": none
  std::optional<ThreadId> thread;  // API calls by thread
  int64_t failedCount = 0;         // API calls that returned an error
  Sample durations;
};

// In order of rank, the longest total first. Kernels that begin in the filter's GPU windows.
[[nodiscard]] Result<std::vector<EventTotals>> groupKernels(Trace& trace, const Filter& filter,
                                                            KernelGrouping grouping);

enum class CallGrouping : uint8_t { Name, Thread };
// API calls that begin in the filter's host windows.
[[nodiscard]] Result<std::vector<EventTotals>> totalCalls(Trace& trace, const Filter& filter, CallGrouping grouping);

// Copies, and sets with copyKind -1.
struct CopyTotals {
  ProcessId process;
  DeviceId device;
  int64_t copyKind = -1;
  std::optional<int64_t> sourceKind;  // none: a set
  int64_t targetKind = 0;
  bool isAsync = false;
  std::optional<size_t> sizeClass;   // index into kSizeClasses; none: not asked for, or not known
  std::optional<int64_t> bytes = 0;  // none: one whose size was not recorded (0 in the table) is among them
  double fastest = 0;                // bytes/s of the fastest one
  Sample durations;
  Sample sizes;  // bytes, of those whose size was recorded
};
// Direction: over all processes, devices and kinds of memory, as `nsys stats` has them; only copyKind is set.
enum class CopyGrouping : uint8_t { Kind, Size, Direction };
struct SizeClass {
  const char* name;
  int64_t below;  // bytes
};
inline constexpr SizeClass kSizeClasses[] = {{"under 4 KiB", int64_t{4} << 10},     {"4 to 64 KiB", int64_t{64} << 10},
                                             {"64 KiB to 1 MiB", int64_t{1} << 20}, {"1 to 16 MiB", int64_t{16} << 20},
                                             {"16 to 256 MiB", int64_t{256} << 20}, {"256 MiB and more", INT64_MAX}};
[[nodiscard]] Result<std::vector<CopyTotals>> totalCopies(Trace& trace, const Filter& filter, CopyGrouping grouping);

// Executable graphs. What a launch did on the device is known from its nodes, or from one record of the whole launch;
// where both are there, the nodes count.
struct GraphTotals {
  ProcessId process;
  std::optional<int64_t> graph;                          // none: the trace does not tell graphs apart
  int64_t launchCount = 0;                               // correlation ids
  int64_t kernelCount = 0, copyCount = 0, setCount = 0;  // recorded nodes that ran
  int64_t wholeCount = 0;                                // launches known by one record only
  int64_t nodeCount = 0;                                 // different nodes; 0: not told
  Duration total;  // sum of the durations of the nodes, of whole records where there are none
  Sample spans;    // of a launch: first start to last end
  Sample api;      // launch calls
};
[[nodiscard]] Result<std::vector<GraphTotals>> totalGraphs(Trace& trace, const Filter& filter);

struct CounterTotals {
  ProcessId process;
  StringId name;
  int64_t count = 0;
  double min = 0, max = 0, sum = 0, first = 0, last = 0;
  TimePoint firstTime, lastTime, maxTime;
  std::optional<StringId> range;  // grouped by range: of what the counter was read for; none: a sample over time
};
enum class CounterGrouping : uint8_t { Name, Range };
// Samples in the filter's host windows, and the counters that CUPTI's profiler read for each kernel or range of its own
// ("cuda_profiler_range"), each a sample at the range's start; by process, name (and range).
[[nodiscard]] Result<std::vector<CounterTotals>> totalCounters(Trace& trace, const Filter& filter,
                                                               CounterGrouping grouping = CounterGrouping::Name);

}  // namespace plumb
