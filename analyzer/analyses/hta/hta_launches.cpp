// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_launches.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace plumb::hta {

std::vector<LaunchRow> launchStatistics(const Rank& rank) {
  std::unordered_set<int64_t> launched;
  for (const Call& call : rank.calls) {
    if (call.isLaunch) launched.insert(call.correlation);
  }
  std::unordered_map<int64_t, std::vector<const Work*>> work;
  for (const Work& one : rank.work) {
    if (launched.count(one.correlation)) work[one.correlation].push_back(&one);
  }
  std::vector<LaunchRow> rows;
  for (const Call& call : rank.calls) {
    const auto mine = work.find(call.correlation);
    if (mine == work.end()) continue;
    for (const Work* one : mine->second) {
      rows.push_back({call.correlation, call.dur, one->dur, std::max<int64_t>(0, one->ts - call.ts - call.dur)});
    }
  }
  return rows;
}

std::vector<QueueRow> queueLengths(const Rank& rank) {
  constexpr int64_t kFull = 1024;
  std::unordered_set<int64_t> queued;
  std::unordered_map<int64_t, std::vector<int64_t>> streams;  // by correlation id
  for (const Work& work : rank.work) streams[work.correlation].push_back(work.stream);
  struct Change {
    int64_t stream, time;
    int by;
  };
  std::vector<Change> changes;
  for (const Call& call : rank.calls) {
    const auto mine = streams.find(call.correlation);
    if (!call.isQueued || mine == streams.end()) continue;
    queued.insert(call.correlation);
    for (const int64_t stream : mine->second) changes.push_back({stream, call.ts, 1});
  }
  for (const Work& work : rank.work) {
    if (queued.count(work.correlation)) changes.push_back({work.stream, work.ts, -1});
  }
  std::vector<double> times;
  for (const Change& change : changes) times.push_back(static_cast<double>(change.time));
  std::map<int64_t, std::vector<Change>> byStream;
  for (const size_t index : sortOrder(times)) byStream[changes[index].stream].push_back(changes[index]);
  std::vector<QueueRow> rows;
  for (const auto& [stream, points] : byStream) {
    QueueRow row;
    row.stream = stream;
    std::vector<double> lengths;
    int64_t length = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      length += points[i].by;
      lengths.push_back(static_cast<double>(length));
      if (length >= kFull && i + 1 < points.size()) row.blocked += points[i + 1].time - points[i].time;
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
    std::string kind;
  };
  std::vector<Change> changes;
  for (const double sign : {1.0, -1.0}) {
    for (const Work& work : rank.work) {
      if (work.type != KernelType::Memory) continue;
      const std::string& name = run.names[work.name];
      const int64_t end = work.ts + (work.dur == 0 ? 1 : work.dur);
      changes.push_back({sign > 0 ? work.ts : end, sign * work.bandwidth,
                         name.substr(0, 6) == "Memset" ? "Memset" : name.substr(0, kKindLength)});
    }
  }
  std::vector<double> times;
  for (const Change& change : changes) times.push_back(static_cast<double>(change.time));
  std::map<std::string, std::vector<double>> series;
  for (const size_t index : sortOrder(times)) series[changes[index].kind].push_back(changes[index].bandwidth);
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
