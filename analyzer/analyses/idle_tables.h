// SPDX-License-Identifier: Apache-2.0
// Idle time as tables of SQL: analysis_idle_causes, analysis_idle_ranges, analysis_idle_gaps (the largest of each
// device). Columns are documented in the report idle.
#pragma once
#include "analyzer/analyses/analysis_table.h"

namespace plumb {
[[nodiscard]] std::span<const AnalysisTable> idleTables() noexcept;
}  // namespace plumb
