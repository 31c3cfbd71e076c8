// SPDX-License-Identifier: Apache-2.0
// The critical path as tables of SQL: analysis_critical_path (shares), analysis_critical_path_segments,
// analysis_critical_path_kernels. Columns are documented in the report critical_path.
#pragma once
#include "analyzer/analyses/analysis_table.h"

namespace plumb {
[[nodiscard]] std::span<const AnalysisTable> criticalPathTables() noexcept;
}  // namespace plumb
