// SPDX-License-Identifier: Apache-2.0
// Who made the others wait in collectives, and what made it late. The straggler of an instance is the rank that arrives
// last; what it causes is the sum of the others' waits. All ranks left the communicator's previous collective together,
// so the time since then is compared: of each rank, from its end of that collective to its arrival, what was
//   compute              union of the kernels that are not communication
//   previous collective  other communication without compute, and leaving the previous collective later than others
//   copies               memory copies and sets without either
//   data loading         ranges of a data loader while the device did nothing
//   launch               the rest: the device waited for the host to launch
// A phase's part of the caused wait is the sum over the others of (the straggler's time in it - theirs), so the parts
// add up to the caused wait; a part is negative where the straggler was faster.
// The first collectives that ranks meet in have no common start. What is left of their waits when the ranks' recordings
// are laid over one another (recording_start.h) is not lateness: the recording, or the process, began later.
// Where in the code: the range in which the straggler spent most of the phase, in the times before the collectives that
// it was last in because of that phase. compute, copies: innermost range around the call that launched the work; data
// loading: the loader's range; launch: innermost range of the thread that calls the collectives.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/analyses/collectives.h"

namespace plumb {

enum class LatePhase : uint8_t { Compute, PreviousCollective, Copies, DataLoading, Launch };
inline constexpr size_t kLatePhaseCount = 5;
[[nodiscard]] std::string_view nameOf(LatePhase phase);
using TimeByPhase = std::array<Duration, kLatePhaseCount>;

struct Lateness {
  Duration causedWait;
  TimeByPhase parts;                      // sum to causedWait
  Interval window;                        // the straggler's time from the previous collective to its arrival
  [[nodiscard]] LatePhase phase() const;  // the one with the largest part
};

// For each instance of the analysis: none without a transfer or a skew, and for the first collective of a communicator,
// because there is no common start to compare from.
[[nodiscard]] Result<std::vector<std::optional<Lateness>>> explainLateness(Trace& trace,
                                                                           const CollectiveAnalysis& analysis);

// For each instance of the analysis, sum over the others: of their waits what was for the last rank's recording to
// begin. Zero in all but the first collective that its ranks were in.
[[nodiscard]] std::vector<Duration> waitsForRecording(Trace& trace, const CollectiveAnalysis& analysis);

struct RankLateness {
  ProcessId process;
  std::optional<int64_t> rank;
  int64_t instanceCount = 0;                             // with a transfer
  int64_t lastCount = 0;                                 // of them it arrived last in, with a skew
  Duration waited;                                       // for others
  Duration causedWait;                                   // of all others together
  TimeByPhase parts;                                     // of causedWait
  Duration recordingLater;                               // of causedWait: its recording began later
  Duration unexplained;                                  // of causedWait: other instances without a previous one
  std::optional<StringId> range;                         // where the phase was spent; none: in no range, or no phase
  [[nodiscard]] std::optional<LatePhase> phase() const;  // none: nothing explained
};

// Over the instances of the filter: ranks with at least one, the one that caused most waiting first; that
// for its recording to begin does not count.
[[nodiscard]] Result<std::vector<RankLateness>> findStragglers(Trace& trace, const CollectiveAnalysis& analysis);

}  // namespace plumb
