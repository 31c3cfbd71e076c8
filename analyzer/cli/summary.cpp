// SPDX-License-Identifier: Apache-2.0
// plumb summary: what ran where, and where time and memory went, on a page.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/collectives.h"
#include "analyzer/analyses/memory.h"
#include "analyzer/analyses/roofline.h"
#include "analyzer/analyses/steps.h"
#include "analyzer/analyses/top_kernels.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/empty_reason.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/shares.h"
#include "analyzer/cli/summary_page.h"
#include "analyzer/cli/text.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {
namespace {

constexpr size_t kCommandWidth = 86;
constexpr size_t kTopKernels = 10;
constexpr size_t kCollectiveRows = 10;
constexpr auto kLeft = TextTable::Align::Left;
constexpr auto kRight = TextTable::Align::Right;

// A table's cell for each of the parts of a whole: "12.3 ms  45.6 %". The shares add up to 100.0 %.
void addShares(std::vector<std::string>& row, const std::vector<Duration>& parts) {
  std::vector<int64_t> values;
  for (const Duration part : parts) values.push_back(part.ns());
  const std::vector<int64_t> tenths = sharesInTenths(values);
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string share = tenths.empty() ? "   - %" : fmt::format("{:>2}.{} %", tenths[i] / 10, tenths[i] % 10);
    row.push_back(fmt::format("{} {}", formatShort(parts[i]), share));
  }
}

void writeProcesses(Page& page, Trace& trace) {
  const TraceInfo& info = trace.info();
  fmt::print("{}\n", escaped(trace.path()));
  if (!info.command.empty()) page.line(fmt::format("command   {}", shortened(escaped(info.command), kCommandWidth)));
  if (!info.complete) {
    page.paragraph(
        "This file is not complete: it is still being recorded, or its recorder was killed. What follows is what it "
        "holds so far; "
        "`plumb index FILE` finishes a file whose recorder is gone.");
  }
  page.heading("Processes");
  TextTable table({"rank", "pid", "host", "program", "device", "ended"}, {kRight, kRight, kLeft, kLeft, kLeft, kLeft});
  std::set<int64_t> ranks;
  int64_t worldSize = 0;
  bool software = false;
  for (const Process& process : trace.processes()) {
    std::string devices;
    for (const Device& device : trace.devices()) {
      if (device.process != process.id) continue;
      devices += fmt::format("{}{}: {}", devices.empty() ? "" : "; ", device.ordinal, escaped(device.name));
      software |= device.isSoftware;
    }
    if (process.rank) ranks.insert(*process.rank);
    worldSize = std::max(worldSize, process.worldSize.value_or(0));
    table.add({process.rank ? fmt::format("{}", *process.rank) : "-", fmt::format("{}", process.pid),
               shortened(escaped(process.host), 14), shortened(escaped(process.program), 18),
               devices.empty() ? "-" : shortened(devices, 26),
               process.ended == "exit"   ? "exit"
               : process.ended == "lost" ? "killed (lost)"
                                         : "running or killed"});
  }
  if (table.empty()) return page.line("No process is recorded in this file.");
  page.table(table);
  const auto recorded = static_cast<int64_t>(ranks.size());
  if (recorded > 0 && worldSize > recorded) {
    page.paragraph(fmt::format("Only {} of {} ranks are in this file.", recorded, worldSize));
  }
  if (software) {
    page.paragraph(
        "Software device: kernels ran on the CPU and durations are CPU time. They show how the program behaves, not "
        "how fast a GPU "
        "would be.");
  }
}

TextTable shareTable() {
  return TextTable({"rank", "span", "compute", "exposed comm.", "exposed mem.", "idle", "comm.", "overlap"},
                   {kRight, kRight, kRight, kRight, kRight, kRight, kRight, kRight});
}

void addBreakdown(TextTable& table, const std::string& rank, const Breakdown& b) {
  std::vector<std::string> row = {rank, formatShort(b.span)};
  addShares(row, {b.compute, b.exposedCommunication, b.exposedMemory, b.idle});
  const auto overlap = b.overlapShare();
  row.push_back(overlap ? formatShort(b.communication) : "none");
  row.push_back(overlap ? formatPercent(*overlap * 100) : "-");
  table.add(std::move(row));
}

Status writeBreakdown(Page& page, Trace& trace) {
  auto devices = breakDown(trace);
  if (!devices.ok()) return devices.error();
  page.heading("GPU time per rank", "(first GPU start to last GPU end)");
  if (devices.value().empty()) {
    page.line("Cannot say, because no kernel, copy or set was recorded (see the diagnostics).");
    return Unit{};
  }
  TextTable table = shareTable();
  bool byName = false;
  int64_t untimed = 0;
  for (const DeviceBreakdown& device : devices.value()) {
    addBreakdown(table, rankText(trace, device.process), device.whole);
    byName |= device.communicationSource == CommunicationSource::Names && device.whole.communication.ns() > 0;
    untimed += device.untimedEventCount;
  }
  page.table(table);
  page.paragraph(
      "span = compute + exposed communication + exposed memory + idle. compute: any kernel but communication is "
      "running; exposed "
      "communication: communication without compute; exposed memory: copies or sets without either; idle: nothing is "
      "running; "
      "overlap: share of communication that has compute at the same time.");
  if (byName)
    page.paragraph("Communication was told from compute by the kernels' names: there are no collective records.");
  if (untimed > 0)
    page.paragraph(fmt::format("{} GPU events without a usable time are left out.", formatCount(untimed)));
  return Unit{};
}

// The sum over the steady steps, whose identity holds as it does for each.
Breakdown sumOf(const std::vector<Step>& steps) {
  Breakdown sum;
  for (const Step& step : steps) {
    if (step.isWarmup || !step.gpu) continue;
    sum.span += step.gpu->span;
    sum.busy += step.gpu->busy;
    sum.compute += step.gpu->compute;
    sum.communication += step.gpu->communication;
    sum.memory += step.gpu->memory;
    sum.exposedCommunication += step.gpu->exposedCommunication;
    sum.overlap += step.gpu->overlap;
    sum.exposedMemory += step.gpu->exposedMemory;
    sum.idle += step.gpu->idle;
  }
  return sum;
}

Status writeSteps(Page& page, Trace& trace) {
  auto ranks = findSteps(trace);
  if (!ranks.ok()) return ranks.error();
  page.heading("Time per step");
  if (ranks.value().empty()) {
    page.line(
        "Cannot say, because the program marked no steps (an NVTX range named `step` around each) and its kernels do "
        "not repeat.");
    return Unit{};
  }
  TextTable times({"rank", "steps", "warm-up", "median", "p10", "p90", "of"},
                  {kRight, kRight, kRight, kRight, kRight, kRight, kLeft});
  TextTable shares = shareTable();
  bool anyGpu = false, anyHost = false, anyWarmup = false, anyPeriod = false;
  int64_t open = 0;
  for (const RankSteps& rank : ranks.value()) {
    const auto& statistics = rank.statistics;
    const auto time = [&](Duration StepStatistics::*part) {
      return statistics ? formatDuration((*statistics).*part) : std::string("-");
    };
    times.add({rankText(trace, rank.process), fmt::format("{}", rank.steps.size()), fmt::format("{}", rank.warmupCount),
               time(&StepStatistics::median), time(&StepStatistics::p10), time(&StepStatistics::p90),
               rank.source == StepSource::Period ? "repetition"
               : rank.timesAreGpuSpans           ? "GPU span"
                                                 : "host range"});
    anyPeriod |= rank.source == StepSource::Period;
    anyHost |= !rank.timesAreGpuSpans;
    anyWarmup |= rank.warmupCount > 0;
    open += rank.openCount;
    if (!rank.timesAreGpuSpans) continue;
    anyGpu = true;
    addBreakdown(shares, rankText(trace, rank.process), sumOf(rank.steps));
  }
  page.table(times);
  if (anyGpu) page.paragraph("GPU span: from the first start to the last end of the GPU work launched in a step.");
  if (anyPeriod)
    page.paragraph("Repetition: no steps were marked; these are the repetitions of the kernels on the busiest stream.");
  if (anyHost)
    page.paragraph("Host range: as marked by the program, because no GPU work is known to belong to these steps.");
  page.paragraph("Median and percentiles are over the steady steps.");
  if (anyWarmup) page.paragraph(fmt::format("Warm-up: {}.", warmupRule()));
  if (open > 0)
    page.paragraph(fmt::format("{} steps were still open when the recording ended and are left out.", open));
  if (!anyGpu) return Unit{};
  page.heading("GPU time in steady steps", "(sum of their spans)");
  page.table(shares);
  return Unit{};
}

Status writeKernels(Page& page, Trace& trace) {
  auto totals = totalKernels(trace);
  if (!totals.ok()) return totals.error();
  if (totals.value().kernels.empty()) return Unit{};
  page.heading("Top kernels", "(all ranks; share of all kernel time, overlapping kernels count each)");
  TextTable table({"share", "total", "calls", "average", "longest", "name"},
                  {kRight, kRight, kRight, kRight, kRight, kLeft});
  const auto& kernels = totals.value().kernels;
  const double all = static_cast<double>(std::max<int64_t>(totals.value().total.ns(), 1));
  for (size_t i = 0; i < std::min(kernels.size(), kTopKernels); ++i) {
    const KernelTotal& kernel = kernels[i];
    const double total = static_cast<double>(kernel.total.ns());
    table.add({formatPercent(100 * total / all), formatDuration(kernel.total), formatCount(kernel.count),
               formatDuration(total / static_cast<double>(kernel.count)), formatDuration(kernel.longest),
               shortened(escaped(kernel.name), 46)});
  }
  page.table(table);
  if (kernels.size() > kTopKernels) {
    page.line(fmt::format("and {} more: plumb report kernels FILE", kernels.size() - kTopKernels));
  }
  return Unit{};
}

Status writeCollectives(Page& page, Trace& trace) {
  auto analysis = analyzeCollectives(trace);
  if (!analysis.ok()) return analysis.error();
  const auto& groups = analysis.value().groups;
  if (groups.empty()) {
    if (const std::string reason = whyNoCollective(trace); !reason.empty()) {
      page.heading("Collectives");
      page.paragraph(reason);
    }
    return Unit{};
  }
  page.heading("Collectives");
  TextTable table({"operation", "bytes", "ranks", "calls", "kernels", "median", "algbw", "busbw", "max skew"},
                  {kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kRight, kRight});
  int64_t shared = 0, withoutKernel = 0;
  bool anyTransfer = false;
  for (size_t i = 0; i < groups.size(); ++i) {
    const CollectiveGroup& group = groups[i];
    shared += group.sharedKernel;
    withoutKernel += group.withoutKernel;
    anyTransfer |= group.transferAlgbw.has_value();
    if (i >= kCollectiveRows) continue;
    const auto& algbw = group.transferAlgbw ? group.transferAlgbw : group.kernelAlgbw;
    const auto& busbw = group.transferBusbw ? group.transferBusbw : group.kernelBusbw;
    const std::string mark = group.transferAlgbw || !algbw ? "" : "*";
    table.add({shortened(escaped(group.operation), 13), formatBytes(static_cast<double>(group.bytes)),
               fmt::format("{}", group.rankCount), formatCount(group.count), formatShort(group.kernelTime),
               formatShort(group.kernelMedian), algbw ? formatPerSecond(*algbw, "B") + mark : "-",
               busbw ? formatPerSecond(*busbw, "B") + mark : "-",
               group.completeCount > 0 ? formatShort(group.largestSkew) : "-"});
  }
  page.table(table);
  if (groups.size() > kCollectiveRows)
    page.line(fmt::format("and {} more: plumb report collectives FILE", groups.size() - kCollectiveRows));
  page.paragraph(
      fmt::format("calls: one per rank; kernels: their summed time. Bytes are NCCL's: all-gather and reduce-scatter "
                  "count all ranks' parts. algbw "
                  "= bytes / {}; busbw = "
                  "algbw x 2(n-1)/n (all-reduce), (n-1)/n (all-gather, reduce-scatter, all-to-all), 1 (others). skew = "
                  "last - first arrival.",
                  anyTransfer ? "transfer (last end - last arrival; * kernel time, where not all ranks are in the file)"
                              : "kernel time"));
  if (withoutKernel > 0)
    page.paragraph(fmt::format("{} records lead to no kernel and have no time.", formatCount(withoutKernel)));
  if (shared > 0)
    page.paragraph(fmt::format("{} records share their kernel with others of their group and count in no time.",
                               formatCount(shared)));
  return Unit{};
}

Status writeMemory(Page& page, Trace& trace) {
  auto analysis = analyzeMemory(trace);
  if (!analysis.ok()) return analysis.error();
  page.heading("Peak device memory by category");
  const auto& devices = analysis.value().devices;
  if (devices.empty()) {
    const std::string reason = whyNoAllocation(trace);
    page.line(reason.empty() ? "Cannot say, because no device allocation was recorded." : reason);
    return Unit{};
  }
  std::vector<size_t> shown;
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
    if (std::any_of(devices.begin(), devices.end(), [&](const DeviceMemory& d) { return d.peak.bytes[i] != 0; }))
      shown.push_back(i);
  }
  std::vector<std::string> headers = {"category"};
  std::vector<TextTable::Align> aligns = {kLeft};
  constexpr size_t kColumns = 6;
  const size_t columns = std::min(devices.size(), kColumns);
  for (size_t i = 0; i < columns; ++i) {
    headers.push_back(fmt::format("{}{}", devices[i].rank ? "rank " : "", rankText(trace, devices[i].process)));
    aligns.push_back(kRight);
  }
  TextTable table(headers, aligns);
  const auto addRow = [&](const std::string& label, const std::function<std::string(const DeviceMemory&)>& cell) {
    std::vector<std::string> row = {label};
    for (size_t i = 0; i < columns; ++i) row.push_back(cell(devices[i]));
    table.add(std::move(row));
  };
  for (const size_t category : shown) {
    addRow(std::string(displayNameOf(static_cast<MemoryCategory>(category))),
           [&](const DeviceMemory& d) { return formatBytes(static_cast<double>(d.peak.bytes[category])); });
  }
  addRow("peak", [](const DeviceMemory& d) { return formatBytes(static_cast<double>(d.peak.totalBytes)); });
  addRow("time of the peak", [](const DeviceMemory& d) { return formatDuration(Duration(d.peak.time.ns())); });
  page.table(table);
  if (devices.size() > columns)
    page.line(fmt::format("and {} more devices: plumb report memory FILE", devices.size() - columns));
  page.paragraph(
      "Times since the session's start, of the host's calls: the device uses the memory when the work queued before "
      "has "
      "run.");
  const bool anyPool = std::any_of(devices.begin(), devices.end(), [](const DeviceMemory& d) { return d.hasPool; });
  if (anyPool) {
    page.paragraph(
        "Allocated bytes. What is reserved from the driver: cannot say, because stream-ordered allocations come from a "
        "pool whose size "
        "was not recorded.");
  }
  for (const auto& other : analysis.value().otherSpaces) {
    for (const SpacePeak& peak : other.spaces) {
      page.line(fmt::format("besides, {}: {} memory, peak {}", whoText(trace, other.process), escaped(peak.space),
                            formatBytes(static_cast<double>(peak.peakBytes))));
    }
  }
  return Unit{};
}

Status writeRoofline(Page& page, Trace& trace) {
  auto devices = analyzeRoofline(trace);
  if (!devices.ok()) return devices.error();
  if (devices.value().empty()) return Unit{};
  std::array<Duration, 5> time;
  std::map<std::string, Duration> reasons;  // why nothing can be said
  Duration unknown, all;
  std::string howToKnow;
  for (const DeviceRoofline& device : devices.value()) {
    for (const RooflinePoint& point : device.points) {
      time[static_cast<size_t>(point.verdict)] += point.duration;
      if (point.verdict == Verdict::CannotSay) reasons[point.reason] += point.duration;
    }
    unknown += device.unknownDuration;
    howToKnow = device.howToKnowFlops;
    all += device.knownDuration + device.unknownDuration;
  }
  if (all.ns() == 0) return Unit{};
  page.heading("Roofline", "(share of the kernel time without communication)");
  std::vector<int64_t> parts;
  for (const Duration part : time) parts.push_back(part.ns());
  parts.push_back(unknown.ns());
  const auto tenths = sharesInTenths(parts);
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == 0) continue;
    const std::string name = i < time.size() ? std::string(nameOf(static_cast<Verdict>(i))) : "no FLOPs known";
    text += fmt::format("{}{} {}.{} %", text.empty() ? "" : ", ", name, tenths[i] / 10, tenths[i] % 10);
  }
  page.paragraph(
      text +
      ". Memory-bound: above 75 % of the memory roof and below 25 % of the compute roof; compute-bound: above 75 % "
      "and below 50 %; else the larger if above 60 %, else latency-bound. Details: plumb report roofline FILE");
  constexpr int64_t kMuch = 4;  // a quarter of the time
  if (unknown.ns() > all.ns() / kMuch) page.paragraph(fmt::format("FLOPs: {}.", howToKnow));
  const auto reason = std::max_element(reasons.begin(), reasons.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (reason != reasons.end()) page.paragraph(fmt::format("Cannot say, mostly because {}.", escaped(reason->first)));
  return Unit{};
}

}  // namespace

int summarize(const std::string& file) {
  auto opened = Trace::open(file);
  if (!opened.ok()) return complain(opened.error().message, kBadInput);
  Trace& trace = opened.value();
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return complain(snapshot.status().error().message, kBadInput);
  Progress progress(trace.database());
  Page page(isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR"), progress);
  writeProcesses(page, trace);
  struct Part {
    const char* name;
    Status (*write)(Page&, Trace&);
  };
  constexpr Part kParts[] = {{"GPU time", writeBreakdown},      {"steps", writeSteps},
                             {"kernels", writeKernels},         {"collectives", writeCollectives},
                             {"stuck collectives", writeStuck}, {"benchmarks", writeBenchmarks},
                             {"memory", writeMemory},           {"roofline", writeRoofline},
                             {"diagnostics", writeDiagnostics}};
  for (const Part& part : kParts) {
    progress.begin(fmt::format("reading {}: {}", shortened(escaped(file), 40), part.name));
    if (const Status written = part.write(page, trace); !written.ok()) {
      progress.clear();
      std::fflush(stdout);
      return complain(written.error().message, kFailed);
    }
  }
  if (std::fflush(stdout) != 0) return complain("The output could not be written.", kFailed);
  return kDone;
}

}  // namespace plumb::cli
