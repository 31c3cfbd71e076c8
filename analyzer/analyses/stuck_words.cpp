// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stuck_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumb {
namespace {

// What the rank was seen doing, else the first collective that it has called and not completed; "" when neither is
// known.
std::string doingOf(const StuckAnalysis& analysis, int64_t rank) {
  for (const StuckCollective& stuck : analysis.collectives) {
    for (const StuckMember& member : stuck.members) {
      if (member.isMissing && member.rank == rank && !member.doing.empty()) return member.doing;
    }
  }
  const auto open = analysis.firstOpen.find(rank);
  if (open == analysis.firstOpen.end()) return {};
  const auto& [entry, group] = open->second;
  return fmt::format("the first that it has itself called and not completed is {} {} of {}", entry.operation,
                     entry.sequence, groupText(analysis, group));
}

}  // namespace

std::string suspectSentences(const StuckAnalysis& analysis) {
  constexpr size_t kMostNamed = 4;
  if (analysis.collectives.size() < 2) return {};
  std::string text;
  for (size_t i = 0; i < std::min(analysis.suspects.size(), kMostNamed); ++i) {
    const StuckAnalysis::Suspect& suspect = analysis.suspects[i];
    const std::string doing = doingOf(analysis, suspect.rank);
    text +=
        fmt::format("{} rank {}: {} process group{} for it{}{}.", i == 0 ? "Look first at" : " Then at", suspect.rank,
                    suspect.groups, suspect.groups == 1 ? " waits" : "s wait", doing.empty() ? "" : "; ", doing);
  }
  return text;
}

}  // namespace plumb
