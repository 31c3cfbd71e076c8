// SPDX-License-Identifier: Apache-2.0
// Where in the code stragglers were late: see stragglers.h.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "analyzer/analyses/stragglers.h"

namespace plumb {

// Sets the range of every rank that has a phase. `explained`: of the analysis' instances.
[[nodiscard]] Status findPlaces(Trace& trace, const CollectiveAnalysis& analysis,
                                const std::vector<std::optional<Lateness>>& explained,
                                std::map<ProcessId, RankLateness>& ranks);

}  // namespace plumb
