// SPDX-License-Identifier: Apache-2.0
// Collectives: what each moved how fast, and who waited for whom. Bytes are NCCL's convention. algbw = bytes / time;
// busbw = algbw x factor (all-reduce 2(n-1)/n; all-gather, reduce-scatter, all-to-all (n-1)/n; the others 1). Ranks of
// an instance are matched by (communicator hash, operation, sequence number), never by order.
//   arrival = start of the rank's kernel; wait = last arrival - arrival; transfer = last end - last arrival;
//   skew = last - first arrival. Bandwidth is computed from the transfer, and beside it from the kernels' duration.
// Between hosts, times are compared after taking off the clocks' offset (clock_offsets.h).
// A filter keeps the records whose kernel it keeps (work_filter.h; without a kernel: whose call begins in a
// host window); an instance is in the filter when one of its records is, and is measured over all its ranks.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

// The clock of a host against that of the reference host: a time of the host is `offset` later than the same moment on
// the reference. Processes whose host is not known are of one clock as far as collectives allow it (clock_offsets.h).
struct ClockOffset {
  std::string host;                // "" or "not known (rank …)": the trace does not name it
  std::optional<Duration> offset;  // zero for the reference; none: no collective joins them
  std::optional<Duration> error;   // the true offset is within offset +- error
  // True: the error is a bound that holds for a constant offset. False: no constant offset fits all collectives (a
  // clock drifts, or collectives were matched wrongly) and the error is half of what 90 % of them span.
  bool isBound = true;
  std::vector<ProcessId> processes;
  int64_t instanceCount = 0;  // collectives that joined the host to the reference

  bool isHostKnown = true;
  bool isOneSession = false;  // recorded by one session on one machine, whatever that is called: of one clock
  // Of a host that is not known: its processes' clocks are apart by at most this (none: they share no collective that
  // says it), and how many of its processes are in it without a collective that says so.
  std::optional<Duration> agreement;
  int64_t uncheckedCount = 0;
  // Of its collectives those that cannot be on one clock: they end on a rank before another has arrived.
  int64_t impossibleCount = 0;
};

struct CollectiveMember {
  CollectiveId id;
  ProcessId process;
  std::optional<int64_t> rank;
  Interval host;                   // the enqueueing call
  std::optional<Interval> device;  // its kernel; none: none was recorded
  std::optional<KernelId> kernel;
  Duration wait;                // meaningful in an instance that has a transfer
  Duration clockOffset;         // of its host: taken off before times of hosts are compared
  std::optional<size_t> clock;  // of its host, index into CollectiveAnalysis::clocks; none: it is of no known process
  bool isInFilter = true;       // its record is one of those that the filter keeps
  [[nodiscard]] TimePoint arrival() const { return device->start - clockOffset; }  // require a kernel
  [[nodiscard]] TimePoint end() const { return device->end - clockOffset; }
};

struct CollectiveInstance {
  int64_t communicatorHash = 0;
  std::string communicatorName;  // "" when it has none
  std::string operation;
  int64_t sequence = -1;
  int64_t rankCount = 0;  // of the communicator
  int64_t bytes = 0;
  std::vector<CollectiveMember> members;  // by rank
  bool sharesKernel = false;              // a member's kernel carries other collectives too
  bool isInFilter = true;
  // Present when every rank of the communicator has a kernel in the file and their clocks can be compared.
  std::optional<Duration> transfer;
  std::optional<Duration> skew;
  size_t lastArrival = 0;  // index into members: the straggler, if there is a skew

  // Why there is no transfer, for the user; "" when there is one.
  [[nodiscard]] std::string problem() const;
};

// All collectives of one communicator, operation and size.
struct CollectiveGroup {
  int64_t communicatorHash = 0;
  std::string communicatorName;  // "" when it has none
  std::string operation;
  std::string datatype;
  int64_t rankCount = 0;
  int64_t bytes = 0;          // of one collective
  int64_t count = 0;          // records: one per rank and collective
  int64_t instanceCount = 0;  // matched over ranks
  int64_t completeCount = 0;  // instances with a transfer
  int64_t withoutKernel = 0;  // records that lead to no kernel
  int64_t sharedKernel = 0;   // records whose kernel carries several collectives: left out of times and bandwidths
  Duration kernelTime;        // sum over the records' kernels
  Duration kernelMedian;
  Duration transferTime;  // sum over complete instances
  Duration waitTime;      // sum over members of complete instances
  Duration largestSkew;
  double busFactor = 1;
  const char* busFormula = "";                         // "2(n-1)/n" "(n-1)/n" "1"
  std::optional<double> kernelAlgbw, kernelBusbw;      // bytes/s, from kernel durations
  std::optional<double> transferAlgbw, transferBusbw;  // bytes/s, from transfers
};

struct CollectiveAnalysis {
  std::vector<CollectiveGroup> groups;        // of the filter; most kernel time first
  std::vector<CollectiveInstance> instances;  // all, by first arrival
  std::vector<ClockOffset> clocks;            // of each host against the first one's, over the whole trace
  int64_t unmatched = 0;                      // records without a sequence number or communicator
  int64_t duplicates = 0;                     // a second record of the same rank, operation and sequence number
};

[[nodiscard]] Result<CollectiveAnalysis> analyzeCollectives(Trace& trace, const Filter& filter = {});

struct BusFactor {
  double factor;
  const char* formula;
};
// `operation` in NCCL's names (AllReduce …); n ranks.
[[nodiscard]] BusFactor busFactorOf(std::string_view operation, int64_t n);

}  // namespace plumb
