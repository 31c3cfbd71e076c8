// SPDX-License-Identifier: Apache-2.0
// What of a recording lies before and after the GPUs' work, in words: it is in no span of a device.
#pragma once
#include <string>
#include <vector>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {

// Sentences; "" when the work takes nearly all of the recording, or it is not known how long that is.
[[nodiscard]] std::string recordedText(const Trace& trace, const std::vector<DeviceBreakdown>& devices);

}  // namespace plumb::cli
