// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis' numbers as tables of SQL (hta_temporal_breakdown, hta_idle_time …), which the reports hta_* of
// --definition hta read.
#pragma once
#include "analyzer/analyses/analysis_table.h"

namespace plumb {
[[nodiscard]] std::span<const AnalysisTable> htaTables() noexcept;
}  // namespace plumb
