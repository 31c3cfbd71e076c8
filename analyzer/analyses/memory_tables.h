// SPDX-License-Identifier: Apache-2.0
// analysis_memory, analysis_memory_samples, analysis_memory_changes, analysis_memory_peak, analysis_memory_allocations,
// analysis_memory_steps, analysis_memory_growth, analysis_fragmentation, analysis_hand_calculation,
// analysis_memory_inference.
#pragma once
#include <span>

#include "analyzer/analyses/analysis_table.h"

namespace plumb {

[[nodiscard]] std::span<const AnalysisTable> memoryTables();

}  // namespace plumb
