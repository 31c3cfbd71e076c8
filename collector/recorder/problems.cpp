// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/problems.h"

#include <fmt/format.h>

#include "collector/recorder/safe_math.h"

namespace plumb::recorder {

namespace {

struct Description {
  Problem problem;
  const char* severity;
  const char* lane;
  const char* code;
  const char* message;  // {}: the count
};

constexpr std::array<Description, static_cast<size_t>(Problem::kCount)> kDescriptions{{
    {Problem::kBadTime, "warning", "cupti", "bad_time",
     "Device events without a usable time (zero, reversed, or far outside of the recording): {}. They are kept and "
     "flagged, and left out of all sums of time."},
    {Problem::kBadDuration, "warning", "recorder", "bad_duration",
     "Host events that ended before they began: {}. Their duration is stored as 0."},
    {Problem::kClockJump, "warning", "cupti", "clock_jump",
     "The device events' clock was set while recording (NTP?), times: {}. Events close to such a moment may be "
     "misplaced."},
    {Problem::kNoClockPair, "warning", "cupti", "no_clock_pair",
     "Device events placed by the wall clock, because the process sent no clock pair: {}. They may be shifted against "
     "the host's events."},
    {Problem::kUnmatchedRangeEnd, "warning", "nvtx", "unmatched_range_end",
     "NVTX range ends without a begin: {}. The program pops more than it pushes, or the begins were before the "
     "recording or lost."},
    {Problem::kLostRangeEnd, "warning", "nvtx", "lost_range_end",
     "NVTX ranges without a duration, because their end was among the records that were lost: {}."},
    {Problem::kLostRangeBegin, "warning", "nvtx", "lost_range_begin",
     "NVTX ranges that are missing, because their begin was not recorded (lost, or made in the process that this one "
     "was "
     "forked from): {}."},
    {Problem::kTooManyOpenRanges, "warning", "nvtx", "too_many_open_ranges",
     "NVTX ranges stored without their end, because a million others were open: {}. The program seems to push without "
     "popping."},
    {Problem::kLostPayload, "warning", "nvtx", "lost_payload",
     "NVTX payload fields left out, because their range was lost: {}."},
    {Problem::kUnknownFree, "info", "memory", "unknown_free",
     "Frees of memory that was allocated before the recording began: {}."},
    {Problem::kUnknownRegionEnd, "info", "memory", "unknown_region_end",
     "Memory names withdrawn that had been given before the recording began: {}."},
    {Problem::kOrphanedCollectiveDetail, "warning", "nccl", "orphaned_collective",
     "Collectives that were enqueued, but whose API call was not seen: {}. They are missing from the table of "
     "collectives."},
    {Problem::kIncompleteCollective, "info", "nccl", "incomplete_collective",
     "Collectives that were called, but not seen being enqueued: {}. Their algorithm, sequence number and kernel are "
     "not known."},
    {Problem::kUnknownDatatype, "warning", "nccl", "unknown_datatype",
     "Collectives of a datatype that is new to this version: {}. Their size in bytes is not known and stored as 0."},
    {Problem::kUnknownCommunicator, "warning", "nccl", "unknown_communicator",
     "Collectives whose communicator is not known (NCCL before 2.26, or its record was lost): {}. Their bytes are "
     "counted for one rank only."},
    {Problem::kUnknownText, "warning", "recorder", "unknown_text",
     "Names shown as '?', because their text was lost on its way: {}."},
    {Problem::kNotANumber, "warning", "recorder", "not_a_number",
     "Values that were not numbers (NaN or infinite) and could not be stored as such: {}."},
    {Problem::kUnknownRecord, "warning", "recorder", "unknown_record",
     "Records left out, because this recorder knows neither their kind nor their values: {}. The target's libplumb.so "
     "may be newer."},
    {Problem::kCorruptRing, "error", "recorder", "corrupt_ring",
     "Ring buffers that were overwritten with something else (a stray write in the program?): {}. What they held from "
     "then on is lost."},
    {Problem::kRingFull, "error", "agent", "ring_full",
     "Records lost, because the ring buffers were full: {}. Set PLUMB_RING_BYTES higher, or record less."},
}};

constexpr bool inOrder() {
  for (size_t i = 0; i < kDescriptions.size(); ++i) {
    if (static_cast<size_t>(kDescriptions[i].problem) != i) return false;
  }
  return true;
}
static_assert(inOrder());

}  // namespace

void Problems::write(Writer& writer, int64_t processId, int64_t nowNs) const {
  for (const Description& description : kDescriptions) {
    const uint64_t occurred = count(description.problem);
    if (occurred == 0) continue;
    const std::string message = fmt::format(fmt::runtime(description.message), occurred);
    writer.insert(DiagnosticRow{.id = writer.nextId<DiagnosticRow>(),
                                .process_id = processId,
                                .start_ns = nowNs,
                                .severity = description.severity,
                                .lane = description.lane,
                                .code = description.code,
                                .count = quantity(occurred),
                                .message = message});
  }
}

void writeDiagnostic(Writer& writer, int64_t processId, int64_t nowNs, const char* severity, const char* code,
                     uint64_t count, const std::string& message) {
  writer.insert(DiagnosticRow{.id = writer.nextId<DiagnosticRow>(),
                              .process_id = processId != 0 ? std::optional(processId) : std::nullopt,
                              .start_ns = nowNs,
                              .severity = severity,
                              .lane = "recorder",
                              .code = code,
                              .count = quantity(count),
                              .message = message});
}

}  // namespace plumb::recorder
