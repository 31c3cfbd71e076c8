// SPDX-License-Identifier: Apache-2.0
// Whose definition a report uses. `exact` is ours; other programs' are there to compare with them, each as a report of
// its own.
#pragma once
#include <string>
#include <string_view>

#include "collector/schema/result.h"

namespace plumb {

// The name of the report that answers `report` by `definition`: "exact", "hta" (HolisticTraceAnalysis f4d0062) or
// "tracelens". The error, when there is none, says which there are.
[[nodiscard]] Result<std::string> reportByDefinition(std::string_view report, std::string_view definition);

}  // namespace plumb
