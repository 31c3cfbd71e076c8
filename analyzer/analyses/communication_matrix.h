// SPDX-License-Identifier: Apache-2.0
// Bytes from rank to rank. What is known exactly is exact: a Send has one target; an all-to-all with split sizes says
// what goes where. Of other collectives only their sum is known, and a convention says who sends to whom:
//   ring      each rank of the communicator sends to the next one, in the communicator's order: all-reduce 2(n-1)/n of
//             the bytes, all-gather and reduce-scatter (n-1)/n; broadcast and reduce all of them, except by the last
//             of the ring (broadcast: the rank before the root; reduce: the root)
//   pairwise  all-to-all without split sizes: 1/n of the bytes to each of the others
//   direct    gather and scatter: 1/n of the bytes between each rank and the root
// NCCL may use another ring, trees or the switch: the sums over the cluster hold for each of them, the pairs need not.
// Every rank's record accounts for what that rank sends, so missing ranks leave out only their own bytes; a Recv counts
// only where the sender was not recorded.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class TrafficConvention : uint8_t { Exact, Ring, Pairwise, Direct };
[[nodiscard]] std::string_view nameOf(TrafficConvention convention);

struct Traffic {
  std::optional<int64_t> source, target;  // ranks of the run; none: it is not known which rank of the run that is
  TrafficConvention convention = TrafficConvention::Exact;
  int64_t operationCount = 0;
  double bytes = 0;
};

struct CommunicationMatrix {
  std::vector<Traffic> traffic;  // by source, target, convention
  int64_t withoutPlace = 0;      // records that say neither their communicator's size nor their peer: not in it
};

// Records whose call begins in a host window of the filter.
[[nodiscard]] Result<CommunicationMatrix> communicationMatrix(Trace& trace, const Filter& filter = {});

// What the processes of the filter's rank sent, by the same conventions; a receive is none. A collective without a
// place in its communicator counts where all places send the same.
struct SentBytes {
  ProcessId process;
  TimePoint time;  // of the call
  double bytes;
};
[[nodiscard]] Result<std::vector<SentBytes>> sentBytes(Trace& trace, std::optional<int64_t> rank = {});

// Bytes that the rank at `position` of n sends to each position, for a collective of `bytes` (NCCL's convention).
// `root` for those that have one. Pure; convention is set.
struct Sent {
  int64_t target;
  double bytes;
};
[[nodiscard]] std::vector<Sent> sentBy(std::string_view operation, int64_t position, int64_t n, double bytes,
                                       int64_t root, TrafficConvention& convention);

}  // namespace plumb
