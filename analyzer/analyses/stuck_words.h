// SPDX-License-Identifier: Apache-2.0
// Which ranks many groups wait for, and what those ranks do instead, in the words of every face.
#pragma once
#include <string>

#include "analyzer/analyses/stuck_collectives.h"

namespace plumb {

// "Look first at rank 12: 5 process groups wait for it; the first that it has itself called and not completed is
// nccl:all_to_all 20530 of process group 74." "" when there is nothing to add to hangSentence: at most one collective
// is stuck.
[[nodiscard]] std::string suspectSentences(const StuckAnalysis& analysis);

}  // namespace plumb
