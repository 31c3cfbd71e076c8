// SPDX-License-Identifier: Apache-2.0
// Tables about the work on the device: launches, queues, streams, kinds of work. Columns: analyzer/reports/*.sql.
#pragma once
#include <span>

#include "analyzer/analyses/analysis_table.h"

namespace plumb {

[[nodiscard]] std::span<const AnalysisTable> kernelTables();

}  // namespace plumb
