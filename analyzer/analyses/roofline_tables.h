// SPDX-License-Identifier: Apache-2.0
// analysis_roofline, analysis_roofline_ops, analysis_roofline_step.
#pragma once
#include <span>

#include "analyzer/analyses/analysis_table.h"

namespace plumb {

[[nodiscard]] std::span<const AnalysisTable> rooflineTables();

}  // namespace plumb
