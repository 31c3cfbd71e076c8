// SPDX-License-Identifier: Apache-2.0
// Clock offsets between hosts, from the ends of collectives. No rank can leave an all-reduce, all-gather,
// reduce-scatter or all-to-all before the last one has arrived, so between the last arrival and a rank's end lies at
// most the duration of its kernel: with ends e and durations d of a rank on the host and one on the reference,
//   e_host - e_reference - d_host <= offset <= e_host - e_reference + d_reference
// whatever the clocks say. The offset is the median of e_host - e_reference; the error is its distance to the farther
// of the tightest bounds. One host has offset and error zero.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analyses/collectives.h"

namespace plumb {

// The clocks of the trace's processes, in their order; the first is the reference. Sets the members' clock. A clock is
// a host's; processes whose host is not known are of one clock unless collectives show that they are not
// (unknown_clocks.h). Offsets are not estimated yet. Uses the device intervals of the members only.
[[nodiscard]] std::vector<ClockOffset> findClocks(const Trace& trace, std::vector<CollectiveInstance>& instances);

// From these instances, whose members' clocks are set.
void estimateClockOffsets(std::vector<ClockOffset>& clocks, const std::vector<CollectiveInstance>& instances);

// What is taken off the clock's times before they are compared with others: an offset within its error is none. None:
// they cannot be compared.
[[nodiscard]] std::optional<Duration> clockCorrection(const ClockOffset& clock);

// What the offset is certain within: its error, or of the reference, where several processes are taken as being of one
// clock, what they agree by; none: not known.
[[nodiscard]] std::optional<Duration> clockBound(const std::vector<ClockOffset>& clocks, size_t index);
// How the offset of a clock and its bound were found, for the user; without a full stop.
[[nodiscard]] std::string clockBasis(const std::vector<ClockOffset>& clocks, size_t index);

// What one collective says of a host's clock: the difference of the ends, and the bounds above. Pure.
struct OffsetObservation {
  int64_t differenceNs, lowestNs, highestNs;
};
// Requires at least one observation; sets offset, error, isBound and instanceCount.
void combineObservations(std::vector<OffsetObservation> observations, ClockOffset& clock);

}  // namespace plumb
