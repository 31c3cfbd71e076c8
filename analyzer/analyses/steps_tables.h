// SPDX-License-Identifier: Apache-2.0
// Training steps as a table of SQL: analysis_steps. Columns are documented in the report steps.
#pragma once
#include "analyzer/analyses/analysis_table.h"

namespace plumb {
[[nodiscard]] std::span<const AnalysisTable> stepsTables() noexcept;
}  // namespace plumb
