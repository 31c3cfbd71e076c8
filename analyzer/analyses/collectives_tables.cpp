// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/collectives_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyzer/analyses/clock_offsets.h"
#include "analyzer/analyses/collective_references.h"
#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/communication_matrix.h"
#include "analyzer/analyses/exposed_communication.h"
#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/stragglers.h"
#include "analyzer/analyses/work_filter.h"

namespace plumb {
namespace {

std::string communicatorText(std::string_view name, int64_t hash) {
  return name.empty() ? fmt::format("0x{:x}", static_cast<uint64_t>(hash)) : std::string(name);
}

// Where the reference comes from, and why not from the benchmarks that are in the file.
Cell referenceCell(const std::optional<CollectiveReference>& reference, const std::string& whyNoBenchmark) {
  if (whyNoBenchmark.empty()) return reference ? textCell(reference->source) : Cell(nullptr);
  return reference ? fmt::format("{} ({})", reference->source, whyNoBenchmark) : "none: " + whyNoBenchmark;
}

AnalysisRows collectiveRows(Trace& trace, const Filter& filter) {
  auto analysis = analyzeCollectives(trace, filter);
  if (!analysis.ok()) return analysis.error();
  auto references = CollectiveReferences::load(trace);
  if (!references.ok()) return references.error();
  std::vector<CellRow> rows;
  for (const CollectiveGroup& g : analysis.value().groups) {
    const bool timed = g.kernelTime.ns() > 0;
    const bool complete = g.completeCount > 0;
    const auto reference = references.value().find(g.operation, g.rankCount, g.bytes, g.communicatorHash);
    const auto busbw = g.transferBusbw ? g.transferBusbw : g.kernelBusbw;
    const bool compares = reference && reference->busbwBytesPerSecond > 0 && busbw;
    rows.push_back({communicatorText(g.communicatorName, g.communicatorHash),
                    g.operation,
                    g.datatype,
                    g.rankCount,
                    g.bytes,
                    g.count,
                    timed ? cell(g.kernelTime) : Cell(nullptr),
                    timed ? cell(g.kernelMedian) : Cell(nullptr),
                    cell(g.kernelAlgbw),
                    cell(g.kernelBusbw),
                    g.busFactor,
                    g.completeCount,
                    complete ? cell(g.transferTime) : Cell(nullptr),
                    cell(g.transferAlgbw),
                    cell(g.transferBusbw),
                    complete ? cell(g.waitTime) : Cell(nullptr),
                    complete ? cell(g.largestSkew) : Cell(nullptr),
                    g.withoutKernel,
                    g.sharedKernel,
                    reference ? Cell(reference->busbwBytesPerSecond) : Cell(nullptr),
                    referenceCell(reference, references.value().whyNoBenchmark(g.operation, g.rankCount)),
                    compares ? Cell(100 * *busbw / reference->busbwBytesPerSecond) : Cell(nullptr)});
  }
  return rows;
}

Cell perSecond(const CollectiveInstance& instance, double factor) {
  if (!instance.transfer || instance.transfer->ns() <= 0 || instance.sharesKernel || instance.bytes <= 0)
    return nullptr;
  return static_cast<double>(instance.bytes) / instance.transfer->seconds() * factor;
}

// How many kernels are communication by their names alone, because the source has no record of the collective.
Result<int64_t> countUnrecorded(Trace& trace, const Filter& filter) {
  auto events = WorkFilter::load(trace, filter);
  if (!events.ok()) return events.error();
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  int64_t count = 0;
  const Status read = forEachGpuEvent(trace, classifier.value(), [&](const GpuEvent& event) {
    count += event.kind == GpuEventKind::Communication &&
             events.value().keeps(event.process, event.correlation, event.time.start);
  });
  if (!read.ok()) return read.error();
  return count;
}

Cell latePhaseCell(const std::optional<Lateness>& lateness, Duration wait, Duration forRecording) {
  if (lateness) return textCell(nameOf(lateness->phase()));
  return wait.ns() > 0 && 2 * forRecording.ns() > wait.ns() ? textCell("recording began later") : Cell(nullptr);
}

AnalysisRows instanceRows(Trace& trace, const Filter& filter) {
  auto analysis = analyzeCollectives(trace, filter);
  if (!analysis.ok()) return analysis.error();
  auto explained = explainLateness(trace, analysis.value());
  if (!explained.ok()) return explained.error();
  const std::vector<Duration> forRecording = waitsForRecording(trace, analysis.value());
  std::vector<CellRow> rows;
  for (size_t i = 0; i < analysis.value().instances.size(); ++i) {
    const CollectiveInstance& instance = analysis.value().instances[i];
    if (!instance.isInFilter) continue;
    const bool isMeasured = instance.transfer.has_value();
    const bool isLate = isMeasured && instance.skew->ns() > 0;
    const CollectiveMember& last = instance.members[instance.lastArrival];
    Duration wait;
    for (const CollectiveMember& member : instance.members) wait += member.wait;
    rows.push_back({communicatorText(instance.communicatorName, instance.communicatorHash), instance.operation,
                    instance.sequence, instance.bytes,
                    instance.rankCount > 0 ? Cell(instance.rankCount) : Cell(nullptr),
                    static_cast<int64_t>(instance.members.size()),
                    isMeasured ? cell(last.arrival() - *instance.skew) : Cell(nullptr),
                    isMeasured ? cell(last.arrival()) : Cell(nullptr), cell(instance.skew),
                    isMeasured ? cell(wait) : Cell(nullptr), cell(instance.transfer), perSecond(instance, 1),
                    perSecond(instance, busFactorOf(instance.operation, instance.rankCount).factor),
                    isLate ? cell(last.rank) : Cell(nullptr), isLate ? pidOf(trace, last.process) : Cell(nullptr),
                    latePhaseCell(explained.value()[i], wait, forRecording[i]),
                    isMeasured ? textCell("yes") : textCell(instance.problem())});
  }
  const auto cannotSay = [&](int64_t count, const char* why) {
    CellRow row(17, nullptr);
    row[5] = count;
    row[16] = textCell(why);
    rows.push_back(std::move(row));
  };
  if (analysis.value().unmatched > 0) {
    cannotSay(analysis.value().unmatched, "cannot say: records without a sequence number or a communicator");
  }
  if (analysis.value().groups.empty()) {
    auto unrecorded = countUnrecorded(trace, filter);
    if (!unrecorded.ok()) return unrecorded.error();
    if (unrecorded.value() > 0) {
      cannotSay(unrecorded.value(), "cannot say: communication kernels of which there are no collective records");
    }
  }
  return rows;
}

AnalysisRows memberRows(Trace& trace, const Filter& filter) {
  auto analysis = analyzeCollectives(trace, filter);
  if (!analysis.ok()) return analysis.error();
  std::vector<CellRow> rows;
  for (const CollectiveInstance& instance : analysis.value().instances) {
    for (const CollectiveMember& member : instance.members) {
      if (!member.isInFilter) continue;
      rows.push_back(
          {communicatorText(instance.communicatorName, instance.communicatorHash), instance.operation,
           instance.sequence, instance.bytes, instance.rankCount > 0 ? Cell(instance.rankCount) : Cell(nullptr),
           static_cast<int64_t>(instance.members.size()), cell(member.rank), pidOf(trace, member.process),
           member.id.value(), member.device ? cell(member.arrival()) : Cell(nullptr),
           member.device ? cell(member.end()) : Cell(nullptr), instance.transfer ? cell(member.wait) : Cell(nullptr),
           cell(member.clockOffset), instance.transfer ? textCell("yes") : textCell(instance.problem())});
    }
  }
  return rows;
}

AnalysisRows stragglerRows(Trace& trace, const Filter& filter) {
  // A straggler is one among all ranks, so a rank only chooses the rows.
  Filter times = filter;
  times.rank.reset();
  auto analysis = analyzeCollectives(trace, times);
  if (!analysis.ok()) return analysis.error();
  auto ranks = findStragglers(trace, analysis.value());
  if (!ranks.ok()) return ranks.error();
  std::vector<CellRow> rows;
  for (const RankLateness& rank : ranks.value()) {
    if (filter.rank && rank.rank != filter.rank) continue;
    CellRow row = {cell(rank.rank),
                   pidOf(trace, rank.process),
                   rank.instanceCount,
                   rank.lastCount,
                   100.0 * static_cast<double>(rank.lastCount) / static_cast<double>(rank.instanceCount),
                   cell(rank.causedWait),
                   cell(rank.waited),
                   rank.phase() ? textCell(nameOf(*rank.phase())) : Cell(nullptr)};
    for (const Duration part : rank.parts) row.push_back(cell(part));
    row.push_back(cell(rank.unexplained));
    row.push_back(rank.range ? textCell(trace.text(*rank.range)) : Cell(nullptr));
    row.push_back(cell(rank.recordingLater));
    rows.push_back(std::move(row));
  }
  return rows;
}

AnalysisRows exposedRows(Trace& trace, const Filter& filter) {
  auto found = findExposedCommunication(trace, filter);
  if (!found.ok()) return found.error();
  std::vector<CellRow> rows;
  for (const ExposedCommunication& one : found.value()) {
    rows.push_back({cell(one.rank), pidOf(trace, one.process), ordinalOf(trace, one.device), one.operation,
                    textCell(nameOf(one.basis)), one.kernelCount, cell(one.exposed()), cell(one.transfer),
                    cell(one.waiting), cell(one.missing), cell(one.unknown), cell(one.lateRank),
                    one.longest ? Cell(one.longest->value()) : Cell(nullptr), cell(one.where.start),
                    cell(one.where.end), cell(one.recordingLater), cell(one.laterRecorded), cell(one.heldUp),
                    cell(one.launchUnknown)});
  }
  return rows;
}

bool isClockOfRank(const Trace& trace, const ClockOffset& clock, std::optional<int64_t> rank) {
  return !rank ||
         std::ranges::any_of(clock.processes, [&](ProcessId process) { return trace.process(process)->rank == rank; });
}

// From the collectives inside the filter; of a rank that of its host.
AnalysisRows clockRows(Trace& trace, const Filter& filter) {
  Filter times = filter;
  times.rank.reset();
  auto analysis = analyzeCollectives(trace, times);
  if (!analysis.ok()) return analysis.error();
  std::vector<CollectiveInstance>& instances = analysis.value().instances;
  std::erase_if(instances, [](const CollectiveInstance& instance) { return !instance.isInFilter; });
  std::vector<ClockOffset> clocks = std::move(analysis.value().clocks);
  for (ClockOffset& clock : clocks) clock.offset = clock.error = std::nullopt;
  estimateClockOffsets(clocks, instances);
  std::vector<CellRow> rows;
  for (size_t i = 0; i < clocks.size(); ++i) {
    const ClockOffset& clock = clocks[i];
    if (!isClockOfRank(trace, clock, filter.rank)) continue;
    rows.push_back({clock.host, clocks[0].host, static_cast<int64_t>(clock.processes.size()), cell(clock.offset),
                    cell(clockBound(clocks, i)), clock.instanceCount, textCell(clockBasis(clocks, i))});
  }
  return rows;
}

AnalysisRows matrixRows(Trace& trace, const Filter& filter) {
  auto matrix = communicationMatrix(trace, filter);
  if (!matrix.ok()) return matrix.error();
  std::vector<CellRow> rows;
  for (const Traffic& traffic : matrix.value().traffic) {
    rows.push_back({cell(traffic.source), cell(traffic.target), textCell(nameOf(traffic.convention)),
                    traffic.operationCount, traffic.bytes});
  }
  if (matrix.value().withoutPlace > 0) {
    rows.push_back({nullptr, nullptr, textCell("cannot say"), matrix.value().withoutPlace, nullptr});
  }
  return rows;
}

constexpr AnalysisTable kTables[] = {
    {"analysis_collectives",
     "communicator TEXT, operation TEXT, datatype TEXT, ranks INTEGER, bytes INTEGER, calls INTEGER, total_ns INTEGER,"
     " median_ns INTEGER, kernel_algbw_bytes_per_s REAL, kernel_busbw_bytes_per_s REAL, bus_factor REAL,"
     " complete INTEGER, transfer_ns INTEGER, transfer_algbw_bytes_per_s REAL, transfer_busbw_bytes_per_s REAL,"
     " wait_ns INTEGER, max_skew_ns INTEGER, without_kernel INTEGER, shared_kernel INTEGER,"
     " reference_busbw_bytes_per_s REAL, reference TEXT, reference_pct REAL",
     collectiveRows},
    {"analysis_collective_instances",
     "communicator TEXT, operation TEXT, sequence INTEGER, bytes INTEGER, ranks INTEGER, recorded INTEGER,"
     " first_arrival_ns INTEGER, last_arrival_ns INTEGER, skew_ns INTEGER, wait_ns INTEGER, transfer_ns INTEGER,"
     " algbw_bytes_per_s REAL, busbw_bytes_per_s REAL, straggler_rank INTEGER, straggler_pid INTEGER, late_phase TEXT,"
     " matched TEXT",
     instanceRows},
    {"analysis_collective_members",
     "communicator TEXT, operation TEXT, sequence INTEGER, bytes INTEGER, ranks INTEGER, recorded INTEGER,"
     " rank INTEGER, pid INTEGER, collective_id INTEGER, arrival_ns INTEGER, end_ns INTEGER, wait_ns INTEGER,"
     " clock_offset_ns INTEGER, matched TEXT",
     memberRows},
    {"analysis_stragglers",
     "rank INTEGER, pid INTEGER, instances INTEGER, arrived_last INTEGER, arrived_last_pct REAL,"
     " caused_wait_ns INTEGER, waited_ns INTEGER, phase TEXT, compute_ns INTEGER, previous_collective_ns INTEGER,"
     " copies_ns INTEGER, data_loading_ns INTEGER, launch_ns INTEGER, unexplained_ns INTEGER,"
     " late_range TEXT, recording_later_ns INTEGER",
     stragglerRows},
    {"analysis_exposed_communication",
     "rank INTEGER, pid INTEGER, device INTEGER, operation TEXT, basis TEXT, kernels INTEGER, exposed_ns INTEGER,"
     " transfer_ns INTEGER, waiting_ns INTEGER, missing_ns INTEGER, unknown_ns INTEGER, late_rank INTEGER,"
     " longest_kernel_id INTEGER, start_ns INTEGER, end_ns INTEGER, recording_later_ns INTEGER,"
     " later_recorded_rank INTEGER, held_up_ns INTEGER, launch_unknown_ns INTEGER",
     exposedRows},
    {"analysis_clock_offsets",
     "host TEXT, reference TEXT, processes INTEGER, offset_ns INTEGER, error_ns INTEGER, instances INTEGER, basis TEXT",
     clockRows},
    {"analysis_communication_matrix",
     "source_rank INTEGER, target_rank INTEGER, convention TEXT, operations INTEGER, bytes REAL", matrixRows},
};

}  // namespace

std::span<const AnalysisTable> collectivesTables() { return kTables; }

}  // namespace plumb
