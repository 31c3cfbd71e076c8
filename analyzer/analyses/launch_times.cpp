// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/launch_times.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/work_filter.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/intervals.h"

namespace plumb {
namespace {

// One launch in a stream's queue: waiting during `time`.
struct Waiting {
  Correlation correlation;
  Interval time;
};

// The depth of one stream's queue over time.
class QueueDepth {
 public:
  explicit QueueDepth(std::vector<Waiting> launches) {
    std::vector<Interval> waiting;
    waiting.reserve(launches.size());
    for (const Waiting& launch : launches) waiting.push_back(launch.time);
    m_steps = depthOverTime(waiting);
    std::vector<Interval> full;
    for (size_t i = 0; i + 1 < m_steps.size(); ++i) {
      if (m_steps[i].depth >= kQueueCapacity) full.push_back({m_steps[i].time, m_steps[i + 1].time});
    }
    m_full = IntervalSet::unionOf(std::move(full));
  }
  [[nodiscard]] const std::vector<DepthStep>& steps() const { return m_steps; }
  [[nodiscard]] const IntervalSet& full() const { return m_full; }
  // From `time` on. Cheap when times are asked for in order.
  [[nodiscard]] int64_t at(TimePoint time) {
    m_hint = partitionPointNear(m_steps, m_hint, [time](const DepthStep& step) { return step.time <= time; });
    return m_hint == 0 ? 0 : m_steps[m_hint - 1].depth;
  }

 private:
  std::vector<DepthStep> m_steps;
  IntervalSet m_full;
  size_t m_hint = 0;  // into m_steps, of the last answer
};

struct StreamLaunches {
  ProcessId process;
  std::vector<Waiting> launches;
  int64_t withoutCall = 0;

  // A launch of several pieces waits until the first of them begins.
  void joinPieces() {
    std::ranges::sort(launches, [](const Waiting& a, const Waiting& b) {
      return std::tie(a.correlation, a.time.end) < std::tie(b.correlation, b.time.end);
    });
    const auto rest = std::ranges::unique(launches, {}, &Waiting::correlation);
    launches.erase(rest.begin(), rest.end());
  }
};
using Streams = std::unordered_map<StreamId, StreamLaunches>;

void addToQueue(Streams& streams, const LaunchedWork& work) {
  StreamLaunches& stream = streams[work.stream];
  stream.process = work.process;
  if (!work.call) {
    ++stream.withoutCall;
    return;
  }
  const TimePoint called = work.call->time.start;
  stream.launches.push_back({work.correlation, {called, std::max(called, work.time.start)}});
}

struct KernelLaunch {
  ProcessId process;
  StreamId stream;
  StringId kernel;
  const HostCall* call;
  Interval time;
};

void add(LaunchTotals& totals, const KernelLaunch& launch, QueueDepth& queue) {
  const Interval call = launch.call->time;
  totals.api.add(call.length().ns());
  if (call.end < launch.time.start) totals.queue.add((launch.time.start - call.end).ns());
  if (call.start <= launch.time.start) totals.delay.add((launch.time.start - call.start).ns());
  totals.duration.add(launch.time.length().ns());
  totals.total.add((launch.time.end - call.start).ns());
  const int64_t depth = queue.at(call.start);
  totals.depthTotal += depth;
  totals.depthMax = std::max(totals.depthMax, depth);
  if (depth >= kQueueCapacity) ++totals.deepCount;
  totals.blocked += queue.full().lengthWithin(call);
}

}  // namespace

Result<LaunchTimes> totalLaunches(Trace& trace, const Filter& filter, LaunchGrouping grouping) {
  auto kept = WorkFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto calls = HostCallIndex::load(trace);
  if (!calls.ok()) return calls.error();

  LaunchTimes result;
  Streams streams;
  std::vector<KernelLaunch> launches;
  const Status read = forEachLaunchedWork(trace, classifier.value(), calls.value(), [&](const LaunchedWork& work) {
    addToQueue(streams, work);
    if (work.what != WorkKind::Kernel || !kept.value().keeps(work.process, work.correlation, work.time.start)) return;
    if (work.call) {
      launches.push_back({work.process, work.stream, work.shortName, work.call, work.time});
    } else {
      ++result.withoutCall;
    }
  });
  if (!read.ok()) return read.error();
  std::unordered_map<StreamId, QueueDepth> queues;
  for (auto& [id, stream] : streams) {
    stream.joinPieces();
    queues.emplace(id, QueueDepth(std::move(stream.launches)));
  }

  std::map<std::tuple<ProcessId, int64_t, int64_t>, size_t> groups;
  for (const KernelLaunch& launch : launches) {
    const bool byKernel = grouping == LaunchGrouping::Kernel;
    const auto key = byKernel ? std::tuple(launch.process, launch.kernel.value(), launch.call->name.value())
                              : std::tuple(launch.process, launch.call->thread.value(), int64_t{0});
    const auto [at, isNew] = groups.emplace(key, result.groups.size());
    if (isNew) {
      LaunchTotals& totals = result.groups.emplace_back();
      totals.process = launch.process;
      if (byKernel) {
        totals.kernel = launch.kernel;
        totals.call = launch.call->name;
      } else {
        totals.thread = launch.call->thread;
      }
    }
    add(result.groups[at->second], launch, queues.at(launch.stream));
  }

  auto order = orderOfProcesses(trace);
  std::vector<std::tuple<size_t, int64_t, size_t>> sorted;
  for (size_t i = 0; i < result.groups.size(); ++i) {
    sorted.emplace_back(order[result.groups[i].process], -result.groups[i].total.statistics().total, i);
  }
  std::ranges::sort(sorted);
  std::vector<LaunchTotals> inOrder;
  for (const auto& [process, length, i] : sorted) inOrder.push_back(std::move(result.groups[i]));
  result.groups = std::move(inOrder);
  return result;
}

Result<std::vector<StreamQueue>> measureQueues(Trace& trace, const Filter& filter) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto calls = HostCallIndex::load(trace);
  if (!calls.ok()) return calls.error();
  Streams streams;
  const Status read = forEachLaunchedWork(trace, classifier.value(), calls.value(),
                                          [&](const LaunchedWork& work) { addToQueue(streams, work); });
  if (!read.ok()) return read.error();

  std::vector<StreamQueue> result;
  for (auto& [id, stream] : streams) {
    const ProcessWindows* windows = kept.value().windowsOf(stream.process);
    if (!windows) continue;
    stream.joinPieces();
    StreamQueue queue;
    queue.process = stream.process;
    queue.stream = id;
    queue.withoutCall = stream.withoutCall;
    if (!stream.launches.empty()) {
      Interval hull = stream.launches.front().time;
      for (const Waiting& launch : stream.launches) {
        hull = {std::min(hull.start, launch.time.start), std::max(hull.end, launch.time.end)};
        if (contains(windows->gpu, launch.time.start)) ++queue.launchCount;
      }
      const QueueDepth depth(std::move(stream.launches));
      const IntervalSet inside = windows->gpu.clipped(hull);
      queue.span = inside.length();
      double area = 0;
      for (size_t i = 0; i + 1 < depth.steps().size(); ++i) {
        const DepthStep& step = depth.steps()[i];
        if (step.depth == 0) continue;
        const Duration time = inside.lengthWithin({step.time, depth.steps()[i + 1].time});
        if (time == Duration()) continue;
        queue.queued += time;
        if (step.depth >= kQueueCapacity) queue.full += time;
        area += static_cast<double>(time.ns()) * step.depth;
        if (step.depth > queue.maxDepth) {
          queue.maxDepth = step.depth;
          queue.maxTime = step.time;
        }
      }
      if (queue.span > Duration()) queue.meanDepth = area / static_cast<double>(queue.span.ns());
    }
    result.push_back(queue);
  }
  auto order = orderOfProcesses(trace);
  std::ranges::sort(result, [&](const StreamQueue& a, const StreamQueue& b) {
    return std::tuple(order[a.process], a.stream) < std::tuple(order[b.process], b.stream);
  });
  return result;
}

}  // namespace plumb
