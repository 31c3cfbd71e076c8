// SPDX-License-Identifier: Apache-2.0
// Tables about the host: ranges, operators, API calls, synchronizations. Columns: analyzer/reports/*.sql.
#pragma once
#include <span>

#include "analyzer/analyses/analysis_table.h"

namespace plumb {

[[nodiscard]] std::span<const AnalysisTable> hostTables();

}  // namespace plumb
