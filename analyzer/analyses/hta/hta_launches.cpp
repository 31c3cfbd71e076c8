// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_launches.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/hta/hta_sort.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/sort_runs.h"

namespace plumb::hta {

std::vector<LaunchRow> launchStatistics(const Rank& rank) {
  std::vector<int64_t> launched;
  for (const Call& call : rank.calls) {
    if (call.isLaunch) launched.push_back(call.correlation);
  }
  if (!std::ranges::is_sorted(launched)) std::ranges::sort(launched);
  std::vector<const Work*> work;
  size_t hint = 0;
  for (const Work& one : rank.work) {
    hint = partitionPointNear(launched, hint, [&](int64_t correlation) { return correlation < one.correlation; });
    if (hint < launched.size() && launched[hint] == one.correlation) work.push_back(&one);
  }
  const auto comesBefore = [](const Work* a, const Work* b) { return a->correlation < b->correlation; };
  if (!std::ranges::is_sorted(work, comesBefore)) std::ranges::stable_sort(work, comesBefore);
  std::vector<LaunchRow> rows;
  hint = 0;
  for (const Call& call : rank.calls) {
    hint = partitionPointNear(work, hint, [&](const Work* one) { return one->correlation < call.correlation; });
    for (size_t i = hint; i < work.size() && work[i]->correlation == call.correlation; ++i) {
      const Work& one = *work[i];
      rows.push_back({call.correlation, call.dur, one.dur, std::max<int64_t>(0, one.ts - call.ts - call.dur)});
    }
  }
  return rows;
}

std::vector<QueuePoint> queueSeries(const Rank& rank) {
  struct Place {
    int64_t correlation;
    uint32_t work;
  };
  const auto comesBefore = [](const Place& a, const Place& b) { return a.correlation < b.correlation; };
  std::vector<Place> places;
  places.reserve(rank.work.size());
  for (const Work& work : rank.work) places.push_back({work.correlation, static_cast<uint32_t>(places.size())});
  sortRuns(places, comesBefore);
  std::vector<bool> isQueued(rank.work.size());
  std::vector<QueuePoint> changes;
  changes.reserve(rank.work.size() * 2);
  size_t hint = 0;
  for (size_t i = 0; i < rank.calls.size(); ++i) {
    const Call& call = rank.calls[i];
    if (!call.isQueued) continue;
    hint = partitionPointNear(places, hint, [&](const Place& one) { return one.correlation < call.correlation; });
    for (size_t at = hint; at < places.size() && places[at].correlation == call.correlation; ++at) {
      isQueued[places[at].work] = true;
      changes.push_back({rank.work[places[at].work].stream, call.ts, 1, static_cast<uint32_t>(i), 0});
    }
  }
  for (size_t i = 0; i < rank.work.size(); ++i) {
    const Work& work = rank.work[i];
    if (isQueued[i]) changes.push_back({work.stream, work.ts, -1, static_cast<uint32_t>(i), 0});
  }
  sortAsNumpy(changes, [](const QueuePoint& change) { return change.time; });
  std::unordered_map<int64_t, int64_t> lengths;
  for (QueuePoint& change : changes) change.length = lengths[change.stream] += change.by;
  return changes;
}

std::vector<QueueRow> queueLengths(const Rank& rank) {
  constexpr int64_t kFull = 1024;
  std::map<int64_t, std::vector<QueuePoint>> byStream;
  for (const QueuePoint& point : queueSeries(rank)) byStream[point.stream].push_back(point);
  std::vector<QueueRow> rows;
  for (const auto& [stream, points] : byStream) {
    QueueRow row;
    row.stream = stream;
    std::vector<double> lengths;
    for (size_t i = 0; i < points.size(); ++i) {
      lengths.push_back(static_cast<double>(points[i].length));
      if (points[i].length >= kFull && i + 1 < points.size()) row.blocked += points[i + 1].time - points[i].time;
    }
    row.length = describe(std::move(lengths));
    rows.push_back(row);
  }
  return rows;
}

std::map<std::string, Description> memoryBandwidths(const Run& run, const Rank& rank) {
  constexpr size_t kKindLength = 11;  // of "Memcpy DtoH"
  struct Change {
    int64_t time;
    double bandwidth;
    std::string_view kind;
  };
  std::vector<Change> changes;
  for (const double sign : {1.0, -1.0}) {
    for (const Work& work : rank.work) {
      if (work.type != KernelType::Memory) continue;
      const std::string_view name = run.names[work.name];
      const int64_t end = work.ts + (work.dur == 0 ? 1 : work.dur);
      changes.push_back({sign > 0 ? work.ts : end, sign * work.bandwidth,
                         name.substr(0, 6) == "Memset" ? "Memset" : name.substr(0, kKindLength)});
    }
  }
  sortAsNumpy(changes, [](const Change& change) { return change.time; });
  std::map<std::string_view, std::vector<double>> series;
  for (const Change& change : changes) series[change.kind].push_back(change.bandwidth);
  std::map<std::string, Description> result;
  for (const auto& [name, points] : series) {
    std::vector<double> values;
    double running = 0;
    for (const double change : points) {
      running += change;
      if (running > 0) values.push_back(running);
    }
    if (!values.empty()) result.emplace(name, describe(std::move(values)));
  }
  return result;
}

}  // namespace plumb::hta
