// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/stuck_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace plumb {
namespace {

bool has(const std::vector<int64_t>& ranks, int64_t rank) { return std::ranges::find(ranks, rank) != ranks.end(); }

// What the rank was seen doing, else the first collective that it has called and not completed; "" when neither is
// known.
std::string doingOf(const StuckAnalysis& analysis, int64_t rank) {
  const StuckCollective* first = nullptr;
  for (const StuckCollective& stuck : analysis.collectives) {
    for (const StuckMember& member : stuck.members) {
      if (member.isMissing && member.rank == rank && !member.doing.empty()) return member.doing;
    }
    const bool isIn = has(stuck.waiting, rank) || (stuck.kind == StuckKind::HeldBack && has(stuck.missing, rank));
    if (isIn && (!first || (stuck.since && first->since && *stuck.since < *first->since))) first = &stuck;
  }
  if (!first) return {};
  return fmt::format("it is itself in {} {} of {}, called and not completed", first->operation, first->sequence,
                     groupText(analysis, *first));
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
