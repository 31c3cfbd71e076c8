// SPDX-License-Identifier: Apache-2.0
// The rows of the GPU work and of the CUDA calls as they are stored; the one place that reads them for the analyses
// that go over all of them. Several reports that share their loads (Trace::shareLoads) read each table once.
#pragma once
#include <cstdint>
#include <functional>

#include "analyzer/trace/ids.h"
#include "analyzer/trace/time.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class WorkKind : uint8_t { Kernel, Copy, Set };

// One kernel, copy or set.
struct WorkRow {
  int64_t id = 0;  // row of its table
  ProcessId process;
  DeviceId device;
  StreamId stream;
  Correlation correlation;
  StringId name, shortName;  // of a kernel; 0 for copies and sets
  Interval time;             // empty at 0 when it is not timed
  WorkKind what = WorkKind::Kernel;
  uint8_t copyKind = 0;  // of a copy: HtoD … as in memory_copy
  bool isTimed = false;  // has a usable time
  bool isFromGraph = false;
};
// In the order of the tables kernel, memory_copy, memory_set.
[[nodiscard]] Status forEachWork(Trace& trace, const std::function<void(const WorkRow&)>& take);

// How many rows of the table ("main.kernel") each of so many equal parts would have: what to reserve for them, so that
// vectors of many rows do not grow in steps. 0 when it cannot be read.
[[nodiscard]] size_t rowsPerPart(Trace& trace, const char* table, size_t parts);

// One CUDA call on the host.
struct CallRow {
  ProcessId process;
  ThreadId thread;
  StringId name;
  Correlation correlation;  // 0: none
  TimePoint start;
  Interval time;  // empty at 0 when it is not timed
  bool isTimed = false;
};
[[nodiscard]] Status forEachCall(Trace& trace, const std::function<void(const CallRow&)>& take);

}  // namespace plumb
