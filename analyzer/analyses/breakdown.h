// SPDX-License-Identifier: Apache-2.0
// Where a device's time went. Definitions (exact): for one rank's device over a window, events clipped to it,
//   span = the window; for the whole trace: last GPU end - first GPU start
//   compute = union of the kernels that are not communication; communication = union of the communication kernels (and
//   of copies that a collective made); memory = union of the other copies and sets; busy = union of all; idle = span -
//   busy exposed communication = communication without compute; overlap = communication and compute at once exposed
//   memory = memory without compute or communication
// compute + exposed communication + exposed memory + idle = span.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

struct Breakdown {
  Interval window;
  Duration span, busy, compute, communication, memory, exposedCommunication, overlap, exposedMemory, idle;

  // overlap / communication; none when there was no communication.
  [[nodiscard]] std::optional<double> overlapShare() const;
};

// The breakdown of one device of one process (nearly always: of a rank).
struct DeviceBreakdown {
  ProcessId process;
  std::optional<int64_t> rank;
  DeviceId device;
  Breakdown whole;
  CommunicationSource communicationSource = CommunicationSource::Records;
  int64_t eventCount = 0;
  int64_t untimedEventCount = 0;  // events without a usable time, left out
};

// Breaks down a device's activity over any window.
[[nodiscard]] Breakdown breakDown(const GpuActivity& activity, Interval window);

// One row per device that did anything, in order of rank. With a filter that limits the time, the span is the length of
// its GPU windows (windows.h) inside limitOf() the device's first start and last end; `window` is their hull.
[[nodiscard]] Result<std::vector<DeviceBreakdown>> breakDown(Trace& trace, const Filter& filter = {});
// Whether an event has a part in the GPU windows' hull of its process; empty where the filter leaves nothing out. For
// loadGpuActivity().
[[nodiscard]] std::function<bool(const GpuEvent&)> touching(const std::vector<ProcessWindows>& windows,
                                                            const Filter& filter);
// Over several windows: the sums of what each gives.
[[nodiscard]] Breakdown breakDown(const GpuActivity& activity, const IntervalSet& windows);

}  // namespace plumb
