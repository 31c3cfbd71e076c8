// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "analyzer/analyses/analysis_table.h"

namespace plumb {

[[nodiscard]] std::span<const AnalysisTable> stuckTables() noexcept;

}  // namespace plumb
