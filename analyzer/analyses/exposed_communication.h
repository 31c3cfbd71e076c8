// SPDX-License-Identifier: Apache-2.0
// What exposed communication (communication while nothing computes; breakdown.h) consists of, by operation:
//   transfer   every rank was in the collective
//   waiting    the kernel ran, but a rank had not arrived yet (last arrival - own arrival; collectives.h); beside it
//              how much of that was only because the late rank's recording began later (recording_start.h)
//   missing    it waited for a rank that never came (stuck_collectives.h)
//   unknown    cannot be told: the collective's other ranks are not in the file
// Where several kernels run at one moment it is transfer if one of them transfers, else unknown, waiting, missing; of
// kernels of one kind the first to start has it. So all parts add up to the breakdown's exposed communication.
// Beside it: what of transfer and unknown held up other work (held_up_work.h). In the rest the device would have been
// idle without the collective, too.
// Kernels of which there is a collective record are matched over ranks by it. When a rank's record is missing, the last
// arrival of those in the file bounds the waiting from below and the rest is unknown. Kernels known by their names only
// are taken for one collective when they have one name, are of different devices of one clock (clock_offsets.h), and
// share a moment: all ranks are in a collective at once. That is not proven, so it has a basis of its own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/filter.h"
#include "analyzer/trace/trace.h"

namespace plumb {

enum class MatchBasis : uint8_t { Records, Names };
[[nodiscard]] std::string_view nameOf(MatchBasis basis);  // "records", "names"

struct ExposedCommunication {
  ProcessId process;
  std::optional<int64_t> rank;
  DeviceId device;
  std::string operation;  // NCCL's name; "other" when a kernel's name does not say it
  MatchBasis basis = MatchBasis::Records;
  int64_t kernelCount = 0;  // with exposed time
  Duration transfer, waiting, missing, unknown;
  Duration recordingLater;               // of waiting: in the first collective, for a rank whose recording began later
  Duration heldUp, launchUnknown;        // of transfer and unknown
  std::optional<int64_t> lateRank;       // for which most of the other waiting was
  std::optional<int64_t> laterRecorded;  // the rank for which most of recordingLater was
  std::optional<KernelId> longest;       // the kernel with most exposed time; none: it is a copy
  Interval where;                        // of that kernel
  [[nodiscard]] Duration exposed() const { return transfer + waiting + missing + unknown; }
};

// In order of rank and device, the most exposed first; limits as in breakDown.
[[nodiscard]] Result<std::vector<ExposedCommunication>> findExposedCommunication(Trace& trace,
                                                                                 const Filter& filter = {});

// The operation in a kernel's name: "ncclDevKernel_AllReduce_Sum_f32_RING_LL" is an AllReduce; "other".
[[nodiscard]] std::string_view operationOfKernel(std::string_view name);

}  // namespace plumb
