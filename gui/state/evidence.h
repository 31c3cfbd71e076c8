// SPDX-License-Identifier: Apache-2.0
// The events that a rule names as its evidence, on the timeline. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/timeline_data.h"

namespace plumb::gui {

// One entry for each text such as "kernel 17" (advice.h); none for what has no place on the timeline, such as
// "allocation 4". One pass over all slices.
[[nodiscard]] std::vector<std::optional<timeline::SliceRef>> findEvidence(const timeline::Timeline& timeline,
                                                                          const std::vector<std::string>& evidence);

}  // namespace plumb::gui
