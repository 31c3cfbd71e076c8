// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/clock_statements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace plumb {
namespace {

std::string milliseconds(Duration time) { return fmt::format("{:.3f} ms", static_cast<double>(time.ns()) / 1e6); }

// "ranks 4, 5", "2 processes": those of a clock.
std::string ranksOf(const Trace& trace, const ClockOffset& clock) {
  constexpr size_t kMostNamed = 8;
  std::vector<int64_t> ranks;
  for (const ProcessId id : clock.processes) {
    const Process* process = trace.process(id);
    if (process && process->rank) ranks.push_back(*process->rank);
  }
  const size_t count = clock.processes.size();
  if (ranks.size() < count || ranks.empty()) return fmt::format("{} process{}", count, count == 1 ? "" : "es");
  std::ranges::sort(ranks);
  const bool isCut = ranks.size() > kMostNamed;
  ranks.resize(std::min(ranks.size(), kMostNamed));
  return fmt::format("rank{} {}{}", count == 1 ? "" : "s", fmt::join(ranks, ", "), isCut ? " …" : "");
}

std::string hostOf(const Trace& trace, const ClockOffset& clock) {
  return clock.isHostKnown ? fmt::format("{} ({})", clock.host, ranksOf(trace, clock)) : ranksOf(trace, clock);
}

std::string compared(const Trace& trace, const ClockOffset& clock, const ClockOffset& reference) {
  const std::string of = hostOf(trace, clock), against = hostOf(trace, reference);
  if (!clock.offset) {
    return fmt::format(
        "How far the clock of {} is from that of {} cannot be said, because no collective joins them: their times are "
        "not compared.",
        of, against);
  }
  return fmt::format(
      "The clock of {} is {} from that of {} (within {}{}): reports of collectives and the critical path take that "
      "off; all others show each rank's own times.",
      of, milliseconds(*clock.offset), against, milliseconds(clock.error.value_or(Duration())),
      clock.isBound ? "" : ", not bound: no constant offset fits all collectives");
}

}  // namespace

Result<std::vector<ClockStatement>> sayClocks(Trace& trace, const std::vector<ClockOffset>& clocks) {
  std::vector<ClockStatement> result;
  if (trace.processes().size() < 2) return result;
  for (size_t i = 0; i < clocks.size(); ++i) {
    const ClockOffset& clock = clocks[i];
    if (i > 0) {
      result.push_back({clock.offset ? ClockState::Corrected : ClockState::Apart, clock.processes,
                        compared(trace, clock, clocks[0])});
    }
    if (!clock.isHostKnown && clock.processes.size() > 1 && clock.uncheckedCount > 0 && !clock.isOneSession) {
      result.push_back({ClockState::Unchecked, clock.processes,
                        fmt::format("Cannot say whether the clocks of {} agree, because the trace does not name their "
                                    "hosts, and {} of them share no collective with the first that would show it: "
                                    "they are taken as one clock.",
                                    ranksOf(trace, clock), clock.uncheckedCount)});
    }
    if (clock.impossibleCount > 0) {
      result.push_back(
          {ClockState::Contradicted, clock.processes,
           fmt::format("{} collective{} of {} end on a rank before another has arrived, so their clocks "
                       "differ; they are taken as one clock, because so few say it.",
                       clock.impossibleCount, clock.impossibleCount == 1 ? "" : "s", ranksOf(trace, clock))});
    }
  }
  return result;
}

}  // namespace plumb
