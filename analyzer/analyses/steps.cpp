// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/steps.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/analyses/device_events.h"
#include "analyzer/analyses/launches.h"
#include "analyzer/analyses/period_steps.h"
#include "analyzer/analyses/torch_ranges.h"

namespace plumb {
namespace {

constexpr double kWarmupShare = 0.10;
constexpr double kSlow = 1.5;                     // times the median: a step that a normal one precedes
constexpr size_t kEarlySteps = 5;                 // compilers, autotuners and allocators are done by then
constexpr double kWarmupDeviations = 3 * 1.4826;  // 1.4826: a normal distribution's standard deviation in MADs

Duration median(std::vector<Duration> values) { return percentile(std::move(values), 0.5); }

// 12 of "ProfilerStep#12" and "step 12".
std::optional<int64_t> numberIn(std::string_view name) {
  const std::string_view digits = name.substr(std::min(name.find_first_of("0123456789"), name.size()));
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// Finds the step that follows another: of the same thread and kind (steps of two names may nest), and with the next
// number where they bear one (a profiler that records now and then leaves steps out).
class StepFollower {
 public:
  // Of ranges in order of start, at this place among the process's steps; none: the range is none of them.
  void take(std::vector<Step>& steps, const Statement& row, std::optional<size_t> place) {
    const std::string_view name = row.text(4);
    auto& [before, beforeNumber] =
        m_last[{row.id<ProcessId>(0), row.isNull(5) ? 0 : row.integer(5), std::string(placeName(name))}];
    const std::optional<int64_t> number = numberIn(name);
    const bool isNext = !number || !beforeNumber || *number == *beforeNumber + 1;
    if (place && before && isNext) steps[*before].next = place;
    before = place;
    beforeNumber = number;
  }

 private:
  std::map<std::tuple<ProcessId, int64_t, std::string>, std::pair<std::optional<size_t>, std::optional<int64_t>>>
      m_last;
};

Result<std::vector<RankSteps>> loadStepRanges(Trace& trace) {
  auto rows = trace.query(
      "SELECT process_id, id, start_ns, duration_ns, name, thread_id FROM steps ORDER BY process_id, start_ns, id");
  if (!rows.ok()) return rows.error();
  std::vector<RankSteps> result;
  StepFollower follower;
  Statement& row = rows.value();
  while (row.next()) {
    const auto process = row.id<ProcessId>(0);
    if (result.empty() || result.back().process != process) {
      RankSteps steps;
      steps.process = process;
      if (const Process* p = trace.process(process)) steps.rank = p->rank;
      result.push_back(std::move(steps));
    }
    RankSteps& steps = result.back();
    if (row.isNull(3) || !isUsableTime(row.integer(2), row.integer(3))) {
      ++steps.openCount;
      follower.take(steps.steps, row, std::nullopt);
      continue;
    }
    Step step;
    step.number = static_cast<int64_t>(steps.steps.size()) + steps.openCount;
    step.range = row.id<RangeId>(1);
    step.host = intervalOf(row.integer(2), row.integer(3));
    steps.steps.push_back(step);
    follower.take(steps.steps, row, steps.steps.size() - 1);
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return result;
}

// The step whose host range holds the moment, the one that began last if several do; -1: none. Steps are in order of
// start.
std::ptrdiff_t stepAt(const std::vector<Step>& steps, TimePoint t) {
  auto after = std::partition_point(steps.begin(), steps.end(), [t](const Step& step) { return step.host.start <= t; });
  constexpr int kNesting =
      4;  // steps do not nest; a few levels are looked at for programs that name more than one range so
  for (int i = 0; i < kNesting && after != steps.begin(); ++i) {
    --after;
    if (after->host.contains(t)) return after - steps.begin();
  }
  return -1;
}

// The steps that a rank's statistics can be about, and how long each took.
struct TimedSteps {
  std::vector<Step*> steps;
  std::vector<Duration> times;
};

TimedSteps timedSteps(RankSteps& rank) {
  TimedSteps timed;
  for (Step& step : rank.steps) {
    if (rank.timesAreGpuSpans && !step.gpu) continue;
    timed.steps.push_back(&step);
    timed.times.push_back(rank.timesAreGpuSpans ? step.gpu->span : step.host.length());
  }
  return timed;
}

// How many of so many steps can be warm-up.
size_t mostWarmup(size_t steps) { return steps < 3 ? 0 : steps / 2; }

void addStartToStart(RankSteps& rank) {
  for (Step& step : rank.steps) {
    if (!step.next) continue;
    const Step& next = rank.steps[*step.next];
    if (rank.timesAreGpuSpans && (!step.gpu || !next.gpu)) continue;
    const Duration time =
        rank.timesAreGpuSpans ? next.gpu->window.start - step.gpu->window.start : next.host.start - step.host.start;
    if (time.ns() > 0) step.startToStart = time;
  }
}

// None of no times.
std::optional<StepStatistics> statisticsOf(const std::vector<Duration>& times) {
  if (times.empty()) return std::nullopt;
  return StepStatistics{static_cast<int64_t>(times.size()),
                        median(times),
                        percentile(times, 0.1),
                        percentile(times, 0.9),
                        percentile(times, 0.0),
                        percentile(times, 1.0)};
}

// Ranks go through a step together, so what is warm-up on one of them is so on all.
void summarize(std::vector<RankSteps>& ranks) {
  std::map<StepSource, int64_t> behind;  // the number behind that of the last warm-up step of any rank
  for (RankSteps& rank : ranks) {
    rank.timesAreGpuSpans = std::ranges::any_of(rank.steps, [](const Step& step) { return step.gpu.has_value(); });
    addStartToStart(rank);
    const TimedSteps timed = timedSteps(rank);
    const size_t warmup = countWarmup(timed.times);
    if (warmup > 0) behind[rank.source] = std::max(behind[rank.source], timed.steps[warmup - 1]->number + 1);
  }
  for (RankSteps& rank : ranks) {
    TimedSteps timed = timedSteps(rank);
    std::vector<Duration>& times = timed.times;
    size_t warmup = 0;
    while (warmup < mostWarmup(times.size()) && timed.steps[warmup]->number < behind[rank.source]) {
      timed.steps[warmup++]->isWarmup = true;
    }
    rank.warmupCount = static_cast<int64_t>(warmup);
    times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(warmup));
    rank.statistics = statisticsOf(times);
    std::vector<Duration> apart;
    for (const Step* step : timed.steps) {
      if (!step->isWarmup && step->startToStart) apart.push_back(*step->startToStart);
    }
    rank.startToStart = statisticsOf(apart);
  }
}

// All devices of a process.
struct ProcessWork {
  std::vector<const GpuActivity*> activities;
  std::vector<const DeviceTimeline*> timelines;
};

std::map<ProcessId, ProcessWork> byProcess(const std::vector<GpuActivity>& activities,
                                           const std::vector<DeviceTimeline>& timelines) {
  std::map<ProcessId, ProcessWork> result;
  for (const GpuActivity& activity : activities) result[activity.process].activities.push_back(&activity);
  for (const DeviceTimeline& timeline : timelines) result[timeline.process].timelines.push_back(&timeline);
  return result;
}

// What several devices do, as if one did it.
GpuActivity together(const std::vector<const GpuActivity*>& devices) {
  GpuActivity all;
  for (const GpuActivity* device : devices) {
    for (IntervalSet GpuActivity::*kind : {&GpuActivity::compute, &GpuActivity::communication, &GpuActivity::memory}) {
      all.*kind = unite(all.*kind, device->*kind);
    }
  }
  return all;
}

// Makes windows, spans without anything in them yet, of the GPU work launched in declared steps.
void addLaunchedWork(RankSteps& rank, const ProcessWork& work, const LaunchIndex& launches) {
  for (const DeviceTimeline* timeline : work.timelines) {
    for (const DeviceEvent& event : timeline->events) {
      const Launch* launch = launches.find(rank.process, event.correlation);
      if (!launch) continue;
      const std::ptrdiff_t at = stepAt(rank.steps, launch->start);
      if (at < 0) continue;
      Step& step = rank.steps[static_cast<size_t>(at)];
      if (!step.gpu) step.gpu.emplace().window = event.time;
      Interval& window = step.gpu->window;
      window = {std::min(window.start, event.time.start), std::max(window.end, event.time.end)};
      ++step.gpuEventCount;
    }
  }
}

Result<std::vector<RankSteps>> periodsOf(Trace& trace) {
  auto periods = findPeriodSteps(trace);
  if (!periods.ok()) return periods.error();
  std::vector<RankSteps> result;
  for (const auto& [process, period] : periods.value()) {
    RankSteps rank;
    rank.process = process;
    if (const Process* p = trace.process(process)) rank.rank = p->rank;
    rank.source = StepSource::Period;
    for (const PeriodStep& repetition : period.steps) {
      Step step;
      step.number = static_cast<int64_t>(rank.steps.size());
      step.host = repetition.host;
      step.gpu.emplace().window = repetition.gpu;
      step.gpuEventCount = repetition.eventCount;
      if (rank.steps.size() + 1 < period.steps.size()) step.next = rank.steps.size() + 1;
      rank.steps.push_back(std::move(step));
    }
    result.push_back(std::move(rank));
  }
  return result;
}

// How many GPU events of the device start in the window.
int64_t countWithin(const DeviceTimeline& timeline, Interval window) {
  const auto before = [&](TimePoint t) {
    return std::partition_point(timeline.events.begin(), timeline.events.end(),
                                [&](const DeviceEvent& event) { return event.time.start < t; });
  };
  return before(window.end) - before(window.start);
}

// Fills the steps' windows.
void breakDownSteps(RankSteps& rank, const ProcessWork& work) {
  if (work.activities.empty()) return;
  const bool areSeveral = work.activities.size() > 1;
  const GpuActivity united = areSeveral ? together(work.activities) : GpuActivity();
  const GpuActivity& all = areSeveral ? united : *work.activities.front();
  for (Step& step : rank.steps) {
    if (!step.gpu) continue;
    const Interval window = step.gpu->window;
    step.gpu = breakDown(all, window);
    for (const DeviceTimeline* timeline : work.timelines) step.gpuEventsWithin += countWithin(*timeline, window);
  }
  for (const GpuActivity* activity : work.activities) {
    std::vector<Breakdown> parts;
    bool works = !areSeveral;
    for (const Step& step : rank.steps) {
      if (!step.gpu) continue;
      parts.push_back(areSeveral ? breakDown(*activity, step.gpu->window) : *step.gpu);
      works |= parts.back().busy > Duration();
    }
    if (!works || parts.empty()) continue;
    rank.devices.push_back(activity->device);
    auto part = parts.begin();
    for (Step& step : rank.steps) {
      if (step.gpu) step.parts.push_back(*part++);
    }
  }
}

}  // namespace

const char* repetitionCaveat() {
  return "no steps are marked; what repeats is the sequence of kernels on the busiest stream, which may be a layer and "
         "not a step";
}

const char* warmupRule() {
  return "a first step is warm-up while its time differs from the median of the later half of the steps by more than "
         "10 % "
         "and by more than 3 robust standard deviations (1.4826 x median absolute deviation); so is all up to the last "
         "of the first 5 steps that takes more than 1.5 times that median; at most half of the steps, and none of "
         "fewer than 3; what is warm-up on one rank is so on all";
}

Duration percentile(std::vector<Duration> values, double q) {
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, values.size() - 1);
  const double rest = position - static_cast<double>(below);
  const double difference = static_cast<double>((values[above] - values[below]).ns());
  return values[below] + Duration(std::llround(rest * difference));
}

size_t countWarmup(const std::vector<Duration>& stepTimes) {
  const size_t most = mostWarmup(stepTimes.size());
  if (most == 0) return 0;
  const std::vector<Duration> later(stepTimes.begin() + static_cast<std::ptrdiff_t>(stepTimes.size() / 2),
                                    stepTimes.end());
  const Duration middle = median(later);
  std::vector<Duration> deviations;
  for (const Duration time : later) deviations.push_back(Duration(std::abs((time - middle).ns())));
  const double tolerance = std::max(kWarmupShare * static_cast<double>(middle.ns()),
                                    kWarmupDeviations * static_cast<double>(median(deviations).ns()));
  const auto difference = [&](size_t i) { return static_cast<double>((stepTimes[i] - middle).ns()); };
  size_t count = 0;
  while (count < most && std::abs(difference(count)) > tolerance) ++count;
  // A first step that hits caches may be as fast as any, and the second compiles.
  for (size_t i = count; i < std::min(most, kEarlySteps); ++i) {
    if (difference(i) > std::max(tolerance, (kSlow - 1) * static_cast<double>(middle.ns()))) count = i + 1;
  }
  return count;
}

const char* nameOf(StepSource source) { return source == StepSource::Declared ? "declared" : "period"; }

Result<std::vector<RankSteps>> findSteps(Trace& trace) {
  auto found = loadStepRanges(trace);
  if (!found.ok()) return found;
  std::vector<RankSteps>& ranks = found.value();
  auto activities = loadGpuActivity(trace);
  if (!activities.ok()) return activities.error();
  auto timelines = loadDeviceTimelines(trace);
  if (!timelines.ok()) return timelines.error();
  const std::map<ProcessId, ProcessWork> work = byProcess(activities.value(), timelines.value());
  const auto workOf = [&](const RankSteps& rank) {
    const auto mine = work.find(rank.process);
    return mine == work.end() ? ProcessWork() : mine->second;
  };
  if (!ranks.empty()) {
    auto launches = LaunchIndex::load(trace, timelines.value());
    if (!launches.ok()) return launches.error();
    for (RankSteps& rank : ranks) addLaunchedWork(rank, workOf(rank), launches.value());
  }
  auto periods = periodsOf(trace);
  if (!periods.ok()) return periods.error();
  std::ranges::move(periods.value(), std::back_inserter(ranks));
  for (RankSteps& rank : ranks) breakDownSteps(rank, workOf(rank));
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankSteps& a, const RankSteps& b) {
    return std::make_tuple(!a.rank, a.rank.value_or(0), a.process) <
           std::make_tuple(!b.rank, b.rank.value_or(0), b.process);
  });
  summarize(ranks);
  return found;
}

}  // namespace plumb
