// SPDX-License-Identifier: Apache-2.0
// plumb summary: what ran where, and where time and memory went, on a page.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/steps.h"
#include "analyzer/analyses/top_kernels.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/recorded_time.h"
#include "analyzer/cli/summary_page.h"
#include "analyzer/cli/text.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {
namespace {

constexpr size_t kTopKernels = 10;
constexpr auto kLeft = TextTable::Align::Left;
constexpr auto kRight = TextTable::Align::Right;

// A table's cell for each of the parts of a whole: "12.3 ms  45.6 %", rounded as the reports do.
void addShares(std::vector<std::string>& row, const std::vector<Duration>& parts) {
  Duration whole;
  for (const Duration part : parts) whole += part;
  for (const Duration part : parts) {
    const std::string share =
        whole.ns() > 0 ? formatPercent(100 * static_cast<double>(part.ns()) / static_cast<double>(whole.ns())) : "- %";
    row.push_back(fmt::format("{} {:>6}", formatShort(part), share));
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
  if (devices.value().empty()) {
    page.cannotSay("GPU time per rank", "no kernel, copy or set was recorded (see the diagnostics)");
    return Unit{};
  }
  page.heading("GPU time per rank", "(first GPU start to last GPU end)");
  TextTable table = shareTable();
  bool byName = false;
  int64_t untimed = 0;
  for (const DeviceBreakdown& device : devices.value()) {
    addBreakdown(table, rankText(trace, device.process), device.whole);
    byName |= device.communicationSource == CommunicationSource::Names && device.whole.communication.ns() > 0;
    untimed += device.untimedEventCount;
  }
  page.table(table);
  if (const std::string recorded = recordedText(trace, devices.value()); !recorded.empty()) page.paragraph(recorded);
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

bool isOfRepetitions(const RankSteps& rank) { return rank.source == StepSource::Period; }

// "No steps are marked; the work repeats every 26.10 ms …"
std::string repetitionText(const std::vector<RankSteps>& ranks) {
  const auto longest = std::ranges::max_element(ranks, {}, [](const RankSteps& rank) {
    return isOfRepetitions(rank) && rank.startToStart ? rank.startToStart->median.ns() : -1;
  });
  std::string text(repetitionCaveat());
  text.front() = 'N';
  if (!isOfRepetitions(*longest) || !longest->startToStart) return text + '.';
  return fmt::format(
      "No steps are marked; the work repeats every {} (may be a layer, not a step): these are the "
      "repetitions of the kernels on the busiest stream. To have steps, put an NVTX range named `step` "
      "around each.",
      formatShort(longest->startToStart->median));
}

Status writeSteps(Page& page, Trace& trace) {
  auto ranks = findSteps(trace);
  if (!ranks.ok()) return ranks.error();
  if (ranks.value().empty()) {
    page.cannotSay(
        "Time per step",
        "the program marked no steps (an NVTX range named `step` around each) and its kernels do not repeat, or only "
        "inside one graph launch");
    return Unit{};
  }
  const bool areRepetitions = std::ranges::all_of(ranks.value(), isOfRepetitions);
  const bool areMany = std::ranges::all_of(ranks.value(), [](const RankSteps& rank) {
    return !rank.statistics || rank.statistics->count >= kLeastForPercentiles;
  });
  const char* const thing = areRepetitions ? "repetition" : "step";
  page.heading(fmt::format("Time per {}", thing), areRepetitions ? "(no steps are marked)" : "");
  TextTable times({"rank", fmt::format("{}s", thing), "warm-up", "median", areMany ? "p10" : "shortest",
                   areMany ? "p90" : "longest", "of", "start to start"},
                  {kRight, kRight, kRight, kRight, kRight, kRight, kLeft, kRight});
  TextTable shares = shareTable();
  bool anyGpu = false, anyHost = false, anyWarmup = false, anyPeriod = false, anyBetween = false, anySeveral = false;
  int64_t open = 0;
  for (const RankSteps& rank : ranks.value()) {
    const auto& statistics = rank.statistics;
    const auto time = [&](Duration StepStatistics::*part) {
      return statistics ? formatDuration((*statistics).*part) : std::string("-");
    };
    times.add({rankText(trace, rank.process), fmt::format("{}", rank.steps.size()), fmt::format("{}", rank.warmupCount),
               time(&StepStatistics::median), time(areMany ? &StepStatistics::p10 : &StepStatistics::shortest),
               time(areMany ? &StepStatistics::p90 : &StepStatistics::longest),
               isOfRepetitions(rank)   ? "repetition"
               : rank.timesAreGpuSpans ? "GPU span"
                                       : "host range",
               rank.startToStart ? formatDuration(rank.startToStart->median) : "-"});
    anyBetween |= rank.startToStart.has_value();
    anyPeriod |= isOfRepetitions(rank);
    anyHost |= !rank.timesAreGpuSpans;
    anyWarmup |= rank.warmupCount > 0;
    open += rank.openCount;
    if (!rank.timesAreGpuSpans) continue;
    anyGpu = true;
    anySeveral |= rank.devices.size() > 1;
    addBreakdown(shares, rankText(trace, rank.process), sumOf(rank.steps));
  }
  page.table(times);
  if (anyPeriod) page.paragraph(repetitionText(ranks.value()));
  if (anyGpu && !areRepetitions)
    page.paragraph("GPU span: from the first start to the last end of the GPU work launched in a step.");
  if (anyHost)
    page.paragraph("Host range: as marked by the program, because no GPU work is known to belong to these steps.");
  if (anyBetween) {
    page.paragraph(
        fmt::format("Start to start: the median time to the first work of the next {}, so with what lies between them, "
                    "as loading data.",
                    thing));
  }
  page.paragraph(
      areMany ? fmt::format("Median and percentiles are over the steady {}s.", thing)
              : fmt::format("Median, shortest and longest are over the steady {}s: too few for percentiles.", thing));
  if (anyWarmup) page.paragraph(fmt::format("Warm-up: {}.", warmupRule()));
  if (open > 0)
    page.paragraph(fmt::format("{} still open when the recording ended {} left out.",
                               open == 1 ? "1 step that was" : fmt::format("{} steps that were", open),
                               open == 1 ? "is" : "are"));
  if (!anyGpu) return Unit{};
  page.heading(fmt::format("GPU time in steady {}s", thing), "(sum of their spans)");
  page.table(shares);
  if (anySeveral) {
    page.paragraph(
        "The devices of one process are taken as one: compute is running when a kernel of any of them is, idle is when "
        "none of them works. `plumb report breakdown --by step` has each device for itself.");
  }
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
  // What ended the run comes first, then where its time went.
  constexpr Part kParts[] = {{"stuck collectives", writeStuck}, {"out of memory", writeOutOfMemory},
                             {"GPU time", writeBreakdown},      {"steps", writeSteps},
                             {"kernels", writeKernels},         {"collectives", writeCollectives},
                             {"benchmarks", writeBenchmarks},   {"memory", writeMemory},
                             {"roofline", writeRoofline},       {"what is missing", writeWhatIsMissing},
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
