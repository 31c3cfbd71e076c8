// SPDX-License-Identifier: Apache-2.0
#include "analyzer/compare/step_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/analyses/launches.h"
#include "analyzer/analyses/memory.h"
#include "analyzer/analyses/steps.h"
#include "analyzer/analyses/torch_ranges.h"
#include "collector/schema/event_flags.h"

namespace plumb::compare {
namespace {

using schema::kNoUsableTime;

// The steady steps of one process, in order of start.
struct ProcessSteps {
  struct Window {
    Interval host;
    std::optional<Interval> gpu;
    std::optional<plumb::Breakdown> breakdown;
  };
  std::vector<Window> windows;

  [[nodiscard]] std::optional<size_t> atHost(TimePoint time) const {
    auto after = std::ranges::upper_bound(windows, time, {}, [](const Window& w) { return w.host.start; });
    if (after == windows.begin()) return std::nullopt;
    --after;
    return after->host.contains(time) ? std::optional(static_cast<size_t>(after - windows.begin())) : std::nullopt;
  }
  [[nodiscard]] std::optional<size_t> atGpu(TimePoint time) const {
    for (size_t i = 0; i < windows.size(); ++i) {  // only for work without a launch, which is rare
      if (windows[i].gpu && windows[i].gpu->contains(time)) return i;
    }
    return std::nullopt;
  }
};

// Of one step over the ranks.
struct SampleMean {
  double sum = 0;
  int64_t count = 0;
  void add(double value) { sum += value, ++count; }
};

class Sampler {
 public:
  explicit Sampler(Trace& trace) : m_trace(trace) {}
  [[nodiscard]] Result<RunSamples> run();

 private:
  [[nodiscard]] Status loadSteps();
  void sampleBreakdown();
  [[nodiscard]] Status sampleGpu();
  [[nodiscard]] Status sampleHost(Subject subject, const char* sql);
  [[nodiscard]] Status sampleCollectives();
  [[nodiscard]] Status sampleMemory();
  void add(Subject subject, const std::string& name, size_t step, double value);

  Trace& m_trace;
  RunSamples m_result;
  std::unordered_map<ProcessId, ProcessSteps> m_steps;
};

void Sampler::add(Subject subject, const std::string& name, size_t step, double value) {
  if (step >= static_cast<size_t>(m_result.steps)) return;
  Series& series = m_result.series[{subject, name}];
  series.values.resize(static_cast<size_t>(m_result.steps), 0);
  series.values[step] += value / static_cast<double>(m_result.ranks);
  series.calls += 1.0 / static_cast<double>(m_result.ranks * m_result.steps);
}

Status Sampler::loadSteps() {
  auto found = findSteps(m_trace);
  if (!found.ok()) return found.error();
  std::vector<double> times;
  std::vector<SampleMean> apart;
  for (const RankSteps& rank : found.value()) {
    ProcessSteps own;
    std::vector<double> lengths;
    for (const Step& step : rank.steps) {
      if (step.isWarmup || (rank.timesAreGpuSpans && !step.gpu)) continue;
      own.windows.push_back({step.host, step.gpu ? std::optional(step.gpu->window) : std::nullopt, step.gpu});
      const size_t place = lengths.size();
      if (apart.size() <= place) apart.resize(place + 1);
      if (step.startToStart) apart[place].add(static_cast<double>(step.startToStart->ns()));
      lengths.push_back(static_cast<double>((step.gpu ? step.gpu->span : step.host.length()).ns()));
    }
    if (own.windows.empty()) continue;
    ++m_result.ranks;
    m_result.hasGpuSpans |= rank.timesAreGpuSpans;
    times.resize(std::max(times.size(), lengths.size()), 0);
    for (size_t i = 0; i < lengths.size(); ++i) times[i] += lengths[i];
    const auto count = static_cast<int64_t>(own.windows.size());
    m_result.steps = m_result.steps == 0 ? count : std::min(m_result.steps, count);
    m_steps.emplace(rank.process, std::move(own));
  }
  m_result.hasSteps = m_result.steps > 0;
  m_result.areRepetitions = m_result.hasSteps && std::ranges::all_of(found.value(), [](const RankSteps& rank) {
                              return rank.source == StepSource::Period;
                            });
  if (m_result.hasSteps) {
    Series& series = m_result.series[{Subject::Step, kGpuSpan}];
    for (int64_t i = 0; i < m_result.steps; ++i) {
      series.values.push_back(times[static_cast<size_t>(i)] / static_cast<double>(m_result.ranks));
    }
    series.calls = 1;
    Series between;
    between.calls = 1;
    for (const SampleMean& mean : apart) {
      if (mean.count == m_result.ranks) between.values.push_back(mean.sum / static_cast<double>(mean.count));
    }
    if (!between.values.empty()) m_result.series[{Subject::Step, kStartToStart}] = std::move(between);
    return Unit{};
  }
  const Interval always{TimePoint(-kLargestTimeNs), TimePoint(kLargestTimeNs)};
  for (const Process& process : m_trace.processes())
    m_steps[process.id].windows.push_back({always, always, std::nullopt});
  m_result.steps = 1;
  m_result.ranks = std::max<int64_t>(1, static_cast<int64_t>(m_trace.processes().size()));
  return Unit{};
}

// Compute + exposed communication + exposed memory + idle is the step's GPU span.
void Sampler::sampleBreakdown() {
  struct Part {
    const char* name;
    Duration plumb::Breakdown::*time;
  };
  static constexpr Part kParts[] = {{"compute", &plumb::Breakdown::compute},
                                    {"communication", &plumb::Breakdown::communication},
                                    {"exposed communication", &plumb::Breakdown::exposedCommunication},
                                    {"communication behind compute (overlap)", &plumb::Breakdown::overlap},
                                    {"exposed copies and sets", &plumb::Breakdown::exposedMemory},
                                    {"idle", &plumb::Breakdown::idle}};
  for (const auto& [process, steps] : m_steps) {
    for (size_t step = 0; step < steps.windows.size(); ++step) {
      const auto& breakdown = steps.windows[step].breakdown;
      if (!breakdown) continue;
      for (const Part& part : kParts) {
        add(Subject::Breakdown, part.name, step, static_cast<double>(((*breakdown).*part.time).ns()));
      }
    }
  }
}

Status Sampler::sampleGpu() {
  auto launches = LaunchIndex::load(m_trace);
  if (!launches.ok()) return launches.error();
  struct Source {
    const char* sql;
    const char* fixedName;
  };
  static constexpr Source kSources[] = {
      {"SELECT process_id, correlation, start_ns, duration_ns, flags, short_name_id FROM main.kernel", nullptr},
      {"SELECT process_id, correlation, start_ns, duration_ns, flags, 0 FROM main.memory_copy", "(copies)"},
      {"SELECT process_id, correlation, start_ns, duration_ns, flags, 0 FROM main.memory_set", "(sets)"}};
  for (const Source& source : kSources) {
    auto rows = m_trace.query(source.sql);
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      if ((row.integer(4) & kNoUsableTime) || !isUsableTime(row.integer(2), row.integer(3))) continue;
      const auto process = row.id<ProcessId>(0);
      const auto steps = m_steps.find(process);
      if (steps == m_steps.end()) continue;
      const Launch* launch = launches.value().find(process, row.id<Correlation>(1));
      const auto step = launch ? steps->second.atHost(launch->start) : steps->second.atGpu(row.time(2));
      if (!step) continue;
      add(Subject::Kernel, source.fixedName ? source.fixedName : std::string(m_trace.text(row.id<StringId>(5))), *step,
          static_cast<double>(row.integer(3)));
    }
    if (Status status = row.status(); !status.ok()) return status;
  }
  return Unit{};
}

Status Sampler::sampleHost(Subject subject, const char* sql) {
  auto rows = m_trace.query(sql);
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    if (row.isNull(2) || !isUsableTime(row.integer(1), row.integer(2))) continue;
    const auto steps = m_steps.find(row.id<ProcessId>(0));
    if (steps == m_steps.end()) continue;
    const auto step = steps->second.atHost(row.time(1));
    if (!step) continue;
    std::string_view name = m_trace.text(row.id<StringId>(3));
    if (subject == Subject::Range) name = placeName(torchRangeName(name).name);  // steps of two runs bear other numbers
    add(subject, std::string(name), *step, static_cast<double>(row.integer(2)));
  }
  return row.status();
}

Status Sampler::sampleCollectives() {
  auto rows = m_trace.query(
      "SELECT c.process_id, c.start_ns, k.duration_ns, c.operation_id, c.bytes FROM main.collective c"
      " JOIN main.correlation_link l ON l.process_id = c.process_id AND l.external_id = c.external_id"
      " JOIN main.kernel k ON k.process_id = l.process_id AND k.correlation = l.correlation");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    if (!isUsableTime(row.integer(1), row.integer(2))) continue;
    const auto steps = m_steps.find(row.id<ProcessId>(0));
    if (steps == m_steps.end()) continue;
    const auto step = steps->second.atHost(row.time(1));
    if (!step) continue;
    add(Subject::Collective, fmt::format("{} {} bytes", m_trace.text(row.id<StringId>(3)), row.integer(4)), *step,
        static_cast<double>(row.integer(2)));
  }
  return row.status();
}

Status Sampler::sampleMemory() {
  auto memory = analyzeMemory(m_trace, {}, MemoryDetail::PeakOnly);
  if (!memory.ok()) return memory.error();
  const DeviceMemory* largest = nullptr;
  for (const DeviceMemory& device : memory.value().devices) {
    if (!largest || device.peak.totalBytes > largest->peak.totalBytes) largest = &device;
  }
  if (!largest || largest->peak.totalBytes <= 0) return Unit{};
  const MemoryState& peak = largest->peak;
  m_result.series[{Subject::MemoryPeak, "device memory, largest of any rank"}] = {
      {static_cast<double>(peak.totalBytes)}, 1};
  const auto addCategories = [&](const BytesByCategory& bytes, const char* how) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto category = static_cast<plumb::MemoryCategory>(i);
      if (bytes[i] <= 0) continue;
      m_result.series[{Subject::MemoryCategory, fmt::format("{}{}", displayNameOf(category), how)}] = {
          {static_cast<double>(bytes[i])}, 1};
    }
  };
  BytesByCategory declared = peak.bytes;
  declared[static_cast<size_t>(plumb::MemoryCategory::Unattributed)] = 0;
  addCategories(declared, "");
  addCategories(peak.inferred, " (inferred)");
  return Unit{};
}

Result<RunSamples> Sampler::run() {
  m_result.path = m_trace.path();
  if (Status done = loadSteps(); !done.ok()) return done.error();
  sampleBreakdown();
  if (Status done = sampleGpu(); !done.ok()) return done.error();
  if (Status done = sampleHost(Subject::Operator, "SELECT process_id, start_ns, duration_ns, name_id FROM operator");
      !done.ok()) {
    return done.error();
  }
  if (Status done = sampleHost(
          Subject::Range, "SELECT process_id, start_ns, duration_ns, name_id FROM main.range WHERE kind <> 'mark'");
      !done.ok()) {
    return done.error();
  }
  if (Status done = sampleCollectives(); !done.ok()) return done.error();
  if (Status done = sampleMemory(); !done.ok()) return done.error();
  return std::move(m_result);
}

}  // namespace

const char* nameOf(Subject subject) {
  switch (subject) {
    case Subject::Step:
      return "step";
    case Subject::Breakdown:
      return "GPU time";
    case Subject::Kernel:
      return "kernel";
    case Subject::Operator:
      return "operator";
    case Subject::Range:
      return "range";
    case Subject::Collective:
      return "collective";
    case Subject::MemoryPeak:
      return "memory peak";
    case Subject::MemoryCategory:
      return "memory at the peak";
  }
  return "";
}

bool isBytes(Subject subject) { return subject == Subject::MemoryPeak || subject == Subject::MemoryCategory; }

Result<RunSamples> sampleRun(Trace& trace) {
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return snapshot.status().error();
  auto samples = Sampler(trace).run();
  if (samples.ok()) samples.value().command = trace.info().command;
  return samples;
}

}  // namespace plumb::compare
