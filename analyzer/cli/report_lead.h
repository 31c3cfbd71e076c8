// SPDX-License-Identifier: Apache-2.0
// The answer in words above a report's table, where the table alone makes one look for it.
#pragma once
#include <string>

#include "analyzer/reports/reports.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {

// Lines, or "": the report has no such answer, or it was asked of a part of the run only.
[[nodiscard]] Result<std::string> leadOf(Trace& trace, const Report& report, const ReportRequest& request);

}  // namespace plumb::cli
