// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/trace_health.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyzer/analyses/clock_statements.h"
#include "analyzer/analyses/launched_work.h"

namespace plumb {
namespace {

// Calls that put kernels on the device, by their names.
constexpr const char* kLaunchNames =
    "(SELECT id FROM main.string WHERE text GLOB '*LaunchKernel*' OR text GLOB '*LaunchCooperative*' OR text GLOB "
    "'*GraphLaunch*')";

struct Counts {
  int64_t gpuEvents = 0, withoutLaunch = 0, untimed = 0, launches = 0, launchesWithoutWork = 0;
  int64_t early = 0;  // GPU events that begin before their launching call
  Duration earliest;  // by so much at most
};

struct LaunchCall {
  ProcessId process;
  Correlation correlation;
  TimePoint start;
};

Result<std::vector<LaunchCall>> loadLaunchCalls(Trace& trace) {
  auto rows = trace.query(
      std::string("SELECT process_id, correlation, start_ns, duration_ns FROM main.api_call WHERE result = 0"
                  " AND correlation <> 0 AND name_id IN ") +
      kLaunchNames);
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  std::vector<LaunchCall> calls;
  while (row.next()) {
    if (isUsableTime(row.integer(2), row.integer(3))) {
      calls.push_back({row.id<ProcessId>(0), row.id<Correlation>(1), row.time(2)});
    }
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return calls;
}

using Correlations = std::unordered_map<ProcessId, std::unordered_set<Correlation>>;

double percent(int64_t part, int64_t whole) { return 100.0 * static_cast<double>(part) / static_cast<double>(whole); }

class HealthCheck {
 public:
  HealthCheck(Trace& trace, const Filter& filter, const EventFilter& kept)
      : m_trace(trace), m_filter(filter), m_kept(kept) {}

  Status run() {
    checkFile();
    checkRanks();
    checkBegins();
    if (Status done = checkClocks(); !done.ok()) return done;
    if (Status done = checkDiagnostics(); !done.ok()) return done;
    if (Status done = checkPlugins(); !done.ok()) return done;
    if (Status done = checkOverhead(); !done.ok()) return done;
    return checkCoverage();
  }
  std::vector<HealthFinding> take() {
    std::ranges::stable_sort(m_findings, [](const HealthFinding& a, const HealthFinding& b) {
      const auto place = [](Severity severity) {
        static constexpr int kPlaces[] = {4, 3, 1, 0, 2};
        return kPlaces[static_cast<size_t>(severity)];
      };
      return place(a.severity) < place(b.severity);
    });
    return std::move(m_findings);
  }

 private:
  bool isWanted(const Process& process) const { return !m_filter.rank || process.rank == m_filter.rank; }

  void checkFile() {
    const bool complete = m_trace.info().complete;
    m_findings.push_back(
        {std::nullopt, "file_complete", "", complete ? Severity::Ok : Severity::Error, std::nullopt, "",
         complete ? "The recorder or importer finished this file."
                  : "The recorder has not finished this file: it is still being written, or was killed; "
                    "the last events may be missing. `plumb index` adds the indexes."});
    for (const Process& process : m_trace.processes()) {
      if (!isWanted(process) || process.ended != "lost") continue;
      m_findings.push_back({process.id, "process_ended", "", Severity::Warning, std::nullopt, "",
                            "The process ended without a goodbye (it was killed, or crashed): what it had not handed "
                            "over is missing."});
    }
  }

  void checkRanks() {
    std::optional<int64_t> worldSize;
    std::set<int64_t> ranks;
    for (const Process& process : m_trace.processes()) {
      if (process.worldSize) worldSize = std::max(worldSize.value_or(0), *process.worldSize);
      if (process.rank) ranks.insert(*process.rank);
    }
    if (!worldSize || ranks.empty()) {
      m_findings.push_back({std::nullopt, "missing_ranks", "", Severity::CannotSay, std::nullopt, "ranks",
                            "Cannot say whether ranks are missing, because no process says its rank and how many there "
                            "are."});
      return;
    }
    std::vector<int64_t> missing;
    int64_t count = *worldSize;
    for (const int64_t rank : ranks) count -= rank >= 0 && rank < *worldSize;
    for (int64_t rank = 0; rank < *worldSize && missing.size() < 16; ++rank) {
      if (!ranks.count(rank)) missing.push_back(rank);
    }
    if (count <= 0) {
      m_findings.push_back({std::nullopt, "missing_ranks", "", Severity::Ok, 0.0, "ranks",
                            fmt::format("All {} ranks are in this file.", *worldSize)});
      return;
    }
    const bool cut = count > static_cast<int64_t>(missing.size());
    m_findings.push_back({std::nullopt, "missing_ranks", "", Severity::Warning, static_cast<double>(count), "ranks",
                          fmt::format("{} of {} ranks are not in this file: {}{}.", count, *worldSize,
                                      fmt::join(missing, ", "), cut ? " …" : "")});
  }

  // Where ranks are not recorded from one moment on, the first collective waits for the last recording.
  void checkBegins() {
    constexpr int64_t kLeastNs = 1'000'000;
    const Process *first = nullptr, *last = nullptr;
    for (const Process& process : m_trace.processes()) {
      if (!first || process.start < first->start) first = &process;
      if (!last || process.start > last->start) last = &process;
    }
    if (!first || first == last) return;
    const Duration apart = last->start - first->start;
    if (apart.ns() < kLeastNs) return;
    m_findings.push_back({std::nullopt, "recordings_begin", "", Severity::Info, static_cast<double>(apart.ns()), "ns",
                          fmt::format("The recording of {} begins this much later than that of {}: a first "
                                      "collective waits for it, though nobody is late.",
                                      last->label(), first->label())});
  }

  Status checkClocks() {
    if (m_trace.processes().size() < 2) return Unit{};
    auto collectives = analyzeCollectives(m_trace);
    if (!collectives.ok()) return collectives.error();
    const auto clocks = sayClocks(m_trace, collectives.value().clocks);
    if (!clocks.ok()) return clocks.error();
    for (const ClockStatement& one : clocks.value()) {
      const auto severity = one.state == ClockState::Corrected   ? Severity::Info
                            : one.state == ClockState::Unchecked ? Severity::CannotSay
                                                                 : Severity::Warning;
      m_findings.push_back(
          {std::nullopt, "clocks", "", severity, static_cast<double>(one.processes.size()), "processes", one.message});
    }
    return Unit{};
  }

  Status checkDiagnostics() {
    auto diagnostics = m_trace.diagnostics();
    if (!diagnostics.ok()) return diagnostics.error();
    for (const Diagnostic& diagnostic : diagnostics.value()) {
      const Process* process = diagnostic.process ? m_trace.process(*diagnostic.process) : nullptr;
      if (process && !isWanted(*process)) continue;
      const Severity severity = diagnostic.severity == "error"     ? Severity::Error
                                : diagnostic.severity == "warning" ? Severity::Warning
                                                                   : Severity::Info;
      const char* unit = diagnostic.code == "rank_missing" ? "ranks" : "times";
      m_findings.push_back({diagnostic.process, "diagnostic", diagnostic.lane + "/" + diagnostic.code, severity,
                            static_cast<double>(diagnostic.count), unit, diagnostic.message});
    }
    return Unit{};
  }

  Status checkPlugins() {
    auto rows = m_trace.query("SELECT process_id, name, state FROM main.plugin");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const Process* process = m_trace.process(row.id<ProcessId>(0));
      if (!process || !isWanted(*process) || row.text(2) == "on") continue;
      m_findings.push_back(
          {process->id, "plugin_off", std::string(row.text(1)), Severity::Warning, std::nullopt, "",
           fmt::format("The plugin {} was off: what it records is missing; a diagnostic says why.", row.text(1))});
    }
    return row.status();
  }

  // What the profiler says that it cost: ranges in a domain of their own.
  Status checkOverhead() {
    auto rows = m_trace.query(
        "SELECT process_id, start_ns, coalesce(duration_ns, 0) FROM main.range WHERE domain_id IN"
        " (SELECT id FROM main.string WHERE text IN ('profiler overhead', 'overhead'))");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    bool isRecorded = false;
    std::map<ProcessId, std::pair<int64_t, double>> sums;  // times, ns
    while (row.next()) {
      isRecorded = true;
      const auto process = row.id<ProcessId>(0);
      if (!m_kept.keepsOnHost(process, row.time(1))) continue;
      auto& [count, ns] = sums[process];
      ++count;
      ns += row.real(2);
    }
    for (const Process& process : m_trace.processes()) {
      const auto mine = sums.find(process.id);
      if (mine == sums.end() || !isWanted(process)) continue;
      m_findings.push_back({process.id, "profiler_overhead", "", Severity::Info, mine->second.second, "ns",
                            fmt::format("The profiler was busy {} times, for this long in sum.", mine->second.first)});
    }
    if (!isRecorded) {
      m_findings.push_back({std::nullopt, "profiler_overhead", "", Severity::CannotSay, std::nullopt, "ns",
                            "Cannot say what recording cost, because the trace has no records of it."});
    }
    return row.status();
  }

  Status checkCoverage() {
    auto classifier = CommunicationClassifier::load(m_trace);
    if (!classifier.ok()) return classifier.error();
    auto calls = HostCallIndex::load(m_trace);
    if (!calls.ok()) return calls.error();
    std::unordered_map<ProcessId, Counts> counts;
    Correlations worked;
    const Status read = forEachLaunchedWork(m_trace, classifier.value(), calls.value(), [&](const LaunchedWork& work) {
      worked[work.process].insert(work.correlation);
      if (!m_kept.keepsOnGpu(work.process, work.time.start)) return;
      Counts& mine = counts[work.process];
      ++mine.gpuEvents;
      mine.withoutLaunch += work.call == nullptr;
      if (!work.call || work.call->time.start <= work.time.start) return;
      ++mine.early;
      mine.earliest = std::max(mine.earliest, work.call->time.start - work.time.start);
    });
    if (!read.ok()) return read.error();
    auto untimed = m_trace.query(
        "SELECT process_id, count(*) FROM (SELECT process_id FROM main.kernel WHERE flags & 1 UNION ALL SELECT "
        "process_id"
        " FROM main.memory_copy WHERE flags & 1 UNION ALL SELECT process_id FROM main.memory_set WHERE flags & 1)"
        " GROUP BY process_id");
    if (!untimed.ok()) return untimed.error();
    while (untimed.value().next()) counts[untimed.value().id<ProcessId>(0)].untimed = untimed.value().integer(1);
    if (const Status status = untimed.value().status(); !status.ok()) return status;
    auto launches = loadLaunchCalls(m_trace);
    if (!launches.ok()) return launches.error();
    for (const LaunchCall& call : launches.value()) {
      if (!m_kept.keepsOnHost(call.process, call.start)) continue;
      Counts& mine = counts[call.process];
      ++mine.launches;
      mine.launchesWithoutWork += !worked[call.process].count(call.correlation);
    }
    for (const Process& process : m_trace.processes()) {
      if (isWanted(process)) addCoverage(process.id, counts[process.id]);
    }
    return Unit{};
  }

  void addCoverage(ProcessId process, const Counts& counts) {
    const auto judge = [](int64_t bad, int64_t all) {
      return bad == 0 ? Severity::Ok : percent(bad, all) < 1 ? Severity::Info : Severity::Warning;
    };
    const int64_t timed = counts.gpuEvents;
    if (timed > 0) {
      m_findings.push_back({process, "launched_work", "", judge(counts.withoutLaunch, timed),
                            percent(timed - counts.withoutLaunch, timed), "%",
                            fmt::format("{} of {} GPU events have no launch call in the trace; ranges, operators and "
                                        "steps lack them.",
                                        counts.withoutLaunch, timed)});
    } else {
      m_findings.push_back({process, "launched_work", "", Severity::CannotSay, std::nullopt, "%",
                            m_filter.isWholeTime() ? "The process has no GPU events with usable times."
                                                   : "The process has no GPU events there."});
    }
    if (const int64_t launched = timed - counts.withoutLaunch; launched > 0) {
      m_findings.push_back(
          {process, "work_before_launch", "", judge(counts.early, launched), static_cast<double>(counts.early),
           "events",
           counts.early == 0 ? std::string("No GPU event begins before the call that launched it.")
                             : fmt::format("{} of {} GPU events begin before the call that launched them, by up to {} "
                                           "ns: the clocks of host and device differ there, so launch delays and queue "
                                           "times are wrong by that much.",
                                           counts.early, launched, counts.earliest.ns())});
    }
    if (counts.launches > 0) {
      m_findings.push_back({process, "launches_with_work", "", judge(counts.launchesWithoutWork, counts.launches),
                            percent(counts.launches - counts.launchesWithoutWork, counts.launches), "%",
                            fmt::format("{} of {} successful launch calls have no GPU event in the trace.",
                                        counts.launchesWithoutWork, counts.launches)});
    }
    if (!m_filter.isWholeTime()) return;  // what has no time is in no part of it
    m_findings.push_back({process, "untimed_events", "", counts.untimed > 0 ? Severity::Warning : Severity::Ok,
                          static_cast<double>(counts.untimed), "events",
                          "GPU events without a usable time are counted but left out of all times."});
  }

  Trace& m_trace;
  const Filter& m_filter;
  const EventFilter& m_kept;
  std::vector<HealthFinding> m_findings;
};

// The steps of one process by host start, with the hull of the GPU work launched in each.
struct StepSpan {
  int64_t number = 0;
  Interval host;
  std::optional<Interval> gpu;
  StepCoverage coverage;
};

StepSpan* stepAt(std::vector<StepSpan>& steps, TimePoint time) {
  const auto after = std::ranges::upper_bound(steps, time, {}, [](const StepSpan& step) { return step.host.start; });
  if (after == steps.begin() || !std::prev(after)->host.contains(time)) return nullptr;
  return &*std::prev(after);
}

}  // namespace

const char* nameOf(Severity severity) {
  static constexpr const char* kNames[] = {"ok", "info", "warning", "error", "cannot say"};
  return kNames[static_cast<size_t>(severity)];
}

Result<std::vector<HealthFinding>> checkHealth(Trace& trace, const Filter& filter) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  HealthCheck check(trace, filter, kept.value());
  if (const Status done = check.run(); !done.ok()) return done.error();
  return check.take();
}

Result<std::vector<StepCoverage>> measureCoverage(Trace& trace, const Filter& filter) {
  Filter times = filter;
  times.step.reset();
  auto kept = EventFilter::load(trace, times);
  if (!kept.ok()) return kept.error();
  std::map<ProcessId, std::vector<StepSpan>> steps;
  auto rows = trace.query("SELECT process_id, step, start_ns, duration_ns FROM steps WHERE duration_ns IS NOT NULL");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) {
    const Statement& row = rows.value();
    if (!isUsableTime(row.integer(2), row.integer(3))) continue;
    StepSpan step;
    step.number = row.integer(1);
    step.host = intervalOf(row.integer(2), row.integer(3));
    step.coverage.process = row.id<ProcessId>(0);
    step.coverage.step = step.number;
    steps[row.id<ProcessId>(0)].push_back(step);
  }
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  for (auto& [process, all] : steps) std::ranges::sort(all, {}, [](const StepSpan& step) { return step.host.start; });

  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto calls = HostCallIndex::load(trace);
  if (!calls.ok()) return calls.error();
  struct Work {
    TimePoint start;
    bool hasLaunch;
  };
  std::map<ProcessId, std::vector<Work>> works;
  Correlations worked;
  const Status read = forEachLaunchedWork(trace, classifier.value(), calls.value(), [&](const LaunchedWork& work) {
    worked[work.process].insert(work.correlation);
    const auto mine = steps.find(work.process);
    if (mine == steps.end()) return;
    works[work.process].push_back({work.time.start, work.call != nullptr});
    StepSpan* step = work.call ? stepAt(mine->second, work.call->time.start) : nullptr;
    if (!step) return;
    step->gpu = step->gpu
                    ? Interval{std::min(step->gpu->start, work.time.start), std::max(step->gpu->end, work.time.end)}
                    : work.time;
  });
  if (!read.ok()) return read.error();
  for (auto& [process, all] : works) {
    std::ranges::sort(all, {}, &Work::start);
    for (StepSpan& step : steps[process]) {
      if (!step.gpu) continue;
      for (auto work = std::ranges::lower_bound(all, step.gpu->start, {}, &Work::start);
           work != all.end() && work->start < step.gpu->end; ++work) {
        ++step.coverage.gpuEventCount;
        step.coverage.withoutLaunchCount += !work->hasLaunch;
      }
    }
  }
  auto launches = loadLaunchCalls(trace);
  if (!launches.ok()) return launches.error();
  for (const LaunchCall& call : launches.value()) {
    const auto mine = steps.find(call.process);
    StepSpan* step = mine == steps.end() ? nullptr : stepAt(mine->second, call.start);
    if (!step) continue;
    ++step->coverage.launchCount;
    step->coverage.withoutWorkCount += !worked[call.process].count(call.correlation);
  }
  std::vector<StepCoverage> result;
  for (const Process& process : trace.processes()) {
    if (filter.rank && process.rank != filter.rank) continue;
    for (const StepSpan& step : steps[process.id]) {
      if (filter.step && step.number != *filter.step) continue;
      if (kept.value().keepsOnHost(process.id, step.host.start)) result.push_back(step.coverage);
    }
  }
  return result;
}

}  // namespace plumb
