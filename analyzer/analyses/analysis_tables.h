// SPDX-License-Identifier: Apache-2.0
// The analyses as tables of SQL, for reports and for users' queries: analysis_breakdown, analysis_steps,
// analysis_memory, analysis_collectives, analysis_roofline …, and the windows of a filter, host_window and gpu_window
// (windows.h), and the processes by the rank and pid that they have in those tables, analysis_processes. Each can be called as a function, NAME(rank, step, range, from_ns, to_ns), to limit what it is about.
// Their columns are documented in the reports of the same names.
#pragma once
#include "analyzer/trace/trace.h"

namespace plumb {

// An analysis runs when its table is first read and its rows are kept as long as the Trace, which must not be moved
// while its connection is in use.
[[nodiscard]] Status registerAnalysisTables(Trace& trace);

}  // namespace plumb
