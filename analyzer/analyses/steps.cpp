// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/steps.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
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

struct StepWork {
  Interval hull;
  int64_t count = 0;
};

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

// The GPU side of declared steps.
Status addGpuWork(Trace& trace, std::vector<RankSteps>& ranks, const std::vector<GpuActivity>& activities,
                  const std::vector<DeviceTimeline>& timelines) {
  auto launches = LaunchIndex::load(trace, timelines);
  if (!launches.ok()) return launches.error();
  std::map<ProcessId, RankSteps*> byProcess;
  for (RankSteps& rank : ranks) byProcess[rank.process] = &rank;
  std::map<std::pair<ProcessId, DeviceId>, std::vector<StepWork>> work;
  for (const DeviceTimeline& timeline : timelines) {
    const auto rank = byProcess.find(timeline.process);
    if (rank == byProcess.end()) continue;
    std::vector<StepWork> steps(rank->second->steps.size());
    for (const DeviceEvent& event : timeline.events) {
      const Launch* launch = launches.value().find(timeline.process, event.correlation);
      if (!launch) continue;
      const std::ptrdiff_t step = stepAt(rank->second->steps, launch->start);
      if (step < 0) continue;
      StepWork& mine = steps[static_cast<size_t>(step)];
      mine.hull.start = mine.count ? std::min(mine.hull.start, event.time.start) : event.time.start;
      mine.hull.end = mine.count ? std::max(mine.hull.end, event.time.end) : event.time.end;
      ++mine.count;
    }
    work[{timeline.process, timeline.device}] = std::move(steps);
  }

  std::map<ProcessId, int64_t> mostWork;
  for (const GpuActivity& activity : activities) {
    const auto steps = work.find({activity.process, activity.device});
    if (steps == work.end()) continue;
    int64_t count = 0;
    for (const StepWork& step : steps->second) count += step.count;
    if (count <= mostWork[activity.process]) continue;
    mostWork[activity.process] = count;
    RankSteps& rank = *byProcess[activity.process];
    rank.device = activity.device;
    for (size_t i = 0; i < rank.steps.size(); ++i) {
      const StepWork& mine = steps->second[i];
      rank.steps[i].gpuEventCount = mine.count;
      rank.steps[i].gpu = mine.count ? std::optional(breakDown(activity, mine.hull)) : std::nullopt;
    }
  }
  return Unit{};
}

Status addPeriods(Trace& trace, std::vector<RankSteps>& ranks, const std::vector<GpuActivity>& activities) {
  auto periods = findPeriodSteps(trace);
  if (!periods.ok()) return periods.error();
  for (const auto& [process, period] : periods.value()) {
    const auto activity = std::ranges::find_if(activities, [&, id = process, device = period.device](const auto& a) {
      return a.process == id && a.device == device;
    });
    if (activity == activities.end()) continue;
    RankSteps rank;
    rank.process = process;
    rank.rank = activity->rank;
    rank.device = period.device;
    rank.source = StepSource::Period;
    for (const PeriodStep& repetition : period.steps) {
      Step step;
      step.number = static_cast<int64_t>(rank.steps.size());
      step.host = repetition.host;
      step.gpu = breakDown(*activity, repetition.gpu);
      step.gpuEventCount = repetition.eventCount;
      if (rank.steps.size() + 1 < period.steps.size()) step.next = rank.steps.size() + 1;
      rank.steps.push_back(step);
    }
    ranks.push_back(std::move(rank));
  }
  return Unit{};
}

// How many GPU events of the rank's device start in each step's span.
void countWithin(const std::vector<DeviceTimeline>& timelines, std::vector<RankSteps>& ranks) {
  for (const DeviceTimeline& timeline : timelines) {
    for (RankSteps& rank : ranks) {
      if (rank.process != timeline.process || rank.device != timeline.device) continue;
      const auto before = [&](TimePoint t) {
        return std::partition_point(timeline.events.begin(), timeline.events.end(),
                                    [&](const DeviceEvent& event) { return event.time.start < t; });
      };
      for (Step& step : rank.steps) {
        if (step.gpu) step.gpuEventsWithin = before(step.gpu->window.end) - before(step.gpu->window.start);
      }
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
  if (!ranks.empty()) {
    const Status added = addGpuWork(trace, ranks, activities.value(), timelines.value());
    if (!added.ok()) return added.error();
  }
  if (const Status added = addPeriods(trace, ranks, activities.value()); !added.ok()) return added.error();
  countWithin(timelines.value(), ranks);
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankSteps& a, const RankSteps& b) {
    return std::make_tuple(!a.rank, a.rank.value_or(0), a.process) <
           std::make_tuple(!b.rank, b.rank.value_or(0), b.process);
  });
  summarize(ranks);
  return found;
}

}  // namespace plumb
