// SPDX-License-Identifier: Apache-2.0
// Why a report has no rows.
#pragma once
#include <string>

#include "analyzer/reports/reports.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {

// What the file says about it, as one sentence: "No collective was recorded, because the lane nccl was off." Empty when
// nothing is known.
[[nodiscard]] std::string whyEmpty(Trace& trace, const Report& report, const ReportRequest& request);

// Why a file whose source recorded allocations has none, as what follows "because"; else empty.
[[nodiscard]] std::string whyNoAllocation(Trace& trace);

// Why a file with communicators has no collective, when it is because each of them has one rank; else empty.
[[nodiscard]] std::string whyNoCollective(Trace& trace);

}  // namespace plumb::cli
