// SPDX-License-Identifier: Apache-2.0
// The page's pictures, as SVG. Each is "" when the trace has nothing to draw.
#pragma once
#include <string>

#include "analyzer/trace/trace.h"

namespace plumb::exports {

// A typical step (timeline::steadyWindow) of up to eight processes: streams, collectives, ranges on the device.
[[nodiscard]] Result<std::string> timelinePicture(Trace& trace);
// One bar per device: compute, exposed communication, exposed memory, idle; they add up to the span.
[[nodiscard]] Result<std::string> breakdownPicture(Trace& trace);
// Whether the times of allocations are but their order, a microsecond each: of memory snapshots without times.
[[nodiscard]] bool tellsOrderOnly(Trace& trace);
// Device memory over time by category, for the device with the largest peak. "" too when the trace knows one state
// only.
[[nodiscard]] Result<std::string> memoryPicture(Trace& trace);
// Arithmetic intensity against FLOP/s with the roofs, for the first device that has both.
[[nodiscard]] Result<std::string> rooflinePicture(Trace& trace);

}  // namespace plumb::exports
