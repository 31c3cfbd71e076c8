// SPDX-License-Identifier: Apache-2.0
// analysis_collectives, analysis_collective_instances, analysis_collective_members, analysis_stragglers,
// analysis_clock_offsets, analysis_communication_matrix.
#pragma once
#include <span>

#include "analyzer/analyses/analysis_table.h"

namespace plumb {

[[nodiscard]] std::span<const AnalysisTable> collectivesTables();

}  // namespace plumb
