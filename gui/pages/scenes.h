// SPDX-License-Identifier: Apache-2.0
// From a trace's data to what the painters take: the same for the pages and for --render.
#pragma once
#include "gui/async/trace_data.h"
#include "gui/charts/memory_chart.h"

namespace plumb::gui {

// Everything but area, topBytes and what the mouse does; the span is the whole recording.
[[nodiscard]] MemoryScene memoryScene(const TraceData& data, const DeviceMemory& memory);

// False: its events were imported from a file without times (a memory snapshot of an older PyTorch) and stand in their
// order, a microsecond each.
[[nodiscard]] bool hasTimes(const TraceData& data, ProcessId process);
// That, for the user; "" when all have times.
[[nodiscard]] QString untimedNote(const TraceData& data);

// "where most of the devices' work is": what makes it the main part.
[[nodiscard]] QString placeOf(const timeline::MainPart& part);
// That events lie far from what the timeline shows at first; "" when none does.
[[nodiscard]] QString outsideNote(const TraceData& data);

// All that pages show over time: the timeline and, as far as it is computed, memory.
[[nodiscard]] TimeSpan wholeSpan(const TraceData& data);

// "rank 3", or the process's own label.
[[nodiscard]] QString processText(const TraceData& data, ProcessId process);

}  // namespace plumb::gui
