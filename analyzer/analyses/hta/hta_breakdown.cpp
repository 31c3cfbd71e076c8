// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_breakdown.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "analyzer/analyses/hta/hta_sort.h"
#include "analyzer/analyses/hta/hta_statistics.h"

namespace plumb::hta {
namespace {

struct Span {
  int64_t start = 0, end = 0;  // end can lie before start
};

// A new group begins where a start lies behind every end so far; so touching ones merge.
std::vector<Span> merged(const Rank& rank, std::optional<KernelType> type) {
  std::vector<Span> spans;
  for (const std::vector<Work>* list : {&rank.work, &rank.operators}) {
    for (const Work& work : *list) {
      if (!type || work.type == *type) spans.push_back({work.ts, work.end()});
    }
  }
  std::sort(spans.begin(), spans.end(), [](const Span& x, const Span& y) { return x.start < y.start; });
  std::vector<Span> groups;
  int64_t lastEnd = 0;
  for (const Span& span : spans) {
    const bool isFirst = groups.empty();
    if (isFirst || span.start > lastEnd) {
      groups.push_back(span);
    } else {
      groups.back().end = std::max(groups.back().end, span.end);
    }
    lastEnd = isFirst ? span.end : std::max(lastEnd, span.end);
  }
  return groups;
}

int64_t lengthOf(const std::vector<Span>& groups) {
  int64_t sum = 0;
  for (const Span& group : groups) sum += group.end - group.start;
  return sum;
}

struct Change {
  int64_t time;
  int status;
};

void addChanges(std::vector<Change>& changes, const std::vector<Span>& groups, int status) {
  for (const Span& group : groups) {
    changes.push_back({group.start, status});
    changes.push_back({group.end, -status});
  }
}

void sortByTime(std::vector<Change>& changes) {
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
}

}  // namespace

std::optional<Temporal> temporalBreakdown(const Rank& rank) {
  const std::vector<Span> all = merged(rank, std::nullopt);
  if (all.empty()) return std::nullopt;
  Temporal result;
  result.kernel = all.back().end - all.front().start;
  result.idle = result.kernel - lengthOf(all);
  result.compute = lengthOf(merged(rank, KernelType::Computation));
  result.nonCompute = result.kernel - result.compute - result.idle;
  return result;
}

std::optional<double> overlapPercent(const Rank& rank) {
  const std::vector<Span> communication = merged(rank, KernelType::Communication);
  const int64_t total = lengthOf(communication);
  if (total == 0) return std::nullopt;
  std::vector<Change> changes;
  addChanges(changes, communication, 1);
  addChanges(changes, merged(rank, KernelType::Computation), 2);
  sortByTime(changes);
  int running = 0;
  int64_t overlap = 0;
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    running += changes[i].status;
    if (running == 3) overlap += changes[i + 1].time - changes[i].time;
  }
  return rounded(100 * (static_cast<double>(overlap) / static_cast<double>(total)), 2);
}

std::vector<StreamIdle> idleTime(const Rank& rank) {
  constexpr int64_t kConsecutiveDelay = 30;
  static constexpr std::array<const char*, 3> kCategories = {"host_wait", "kernel_wait", "other"};
  struct Sums {
    std::array<int64_t, 3> time{};
    std::array<bool, 3> any{};
  };
  std::map<int64_t, std::vector<const Work*>> byStream;
  for (const Work& work : rank.work) {
    if (work.kind != WorkKind::Wait) byStream[work.stream].push_back(&work);
  }
  std::map<int64_t, Sums> streams;
  for (auto& [stream, list] : byStream) {
    Sums& sums = streams[stream];
    const Work* previous = nullptr;
    sortAsNumpy(list, [](const Work* work) { return work->ts; });
    for (const Work* next : list) {
      const Work& work = *next;
      const int64_t gap = previous ? work.ts - previous->end() : 0;
      const bool isHostWait = previous && work.launch > previous->end();
      const size_t category = isHostWait ? 0 : previous && gap < kConsecutiveDelay ? 1 : 2;
      sums.time[category] += gap;
      sums.any[category] = true;
      previous = &work;
    }
  }
  std::vector<StreamIdle> rows;
  for (const auto& [stream, sums] : streams) {
    const int64_t total = sums.time[0] + sums.time[1] + sums.time[2];
    for (size_t i = 0; i < kCategories.size(); ++i) {
      if (!sums.any[i]) continue;
      StreamIdle row{stream, kCategories[i], sums.time[i], std::nullopt};
      if (total != 0) row.ratio = rounded(static_cast<double>(sums.time[i]) / static_cast<double>(total), 2);
      rows.push_back(row);
    }
  }
  return rows;
}

std::map<std::string, int64_t> kernelTypeTimes(const std::vector<Rank>& ranks) {
  static constexpr std::array<KernelType, 3> kTypes = {KernelType::Computation, KernelType::Communication,
                                                       KernelType::Memory};
  std::map<std::string, int64_t> times;
  for (const Rank& rank : ranks) {
    std::vector<Change> changes;
    for (size_t i = 0; i < kTypes.size(); ++i) addChanges(changes, merged(rank, kTypes[i]), 1 << i);
    sortByTime(changes);
    int running = 0;
    for (size_t i = 0; i + 1 < changes.size(); ++i) {
      running += changes[i].status;
      if (running <= 0) continue;
      std::string name;
      for (size_t bit = 0; bit < kTypes.size(); ++bit) {
        if (running & (1 << bit)) name += (name.empty() ? "" : " overlapping ") + std::string(nameOf(kTypes[bit]));
      }
      times[name] += changes[i + 1].time - changes[i].time;
    }
  }
  return times;
}

namespace {

KernelRow rowOf(KernelType type, std::string name, const std::vector<double>& values) {
  const Description all = describe(values);
  double sum = 0;
  for (const double value : values) sum += value;
  return {type, std::move(name), sum, all.max, all.min, all.mean, all.std.value_or(0)};
}

// Its order of equal sums: the names' reversed, sorted, and reversed again.
std::vector<KernelRow> byFallingSum(std::vector<KernelRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) { return a.name > b.name; });
  sortAsNumpy(rows, [](const KernelRow& row) { return row.sum; });
  std::reverse(rows.begin(), rows.end());
  return rows;
}

// With more names than asked for: those past 0.8 of the cumulative time, and those after the last one, become one, and
// every statistic is of the names' sums from there on.
std::vector<KernelRow> withOthers(std::vector<KernelRow> rows, size_t kernelCount) {
  constexpr double kShare = 0.8;
  if (rows.size() <= kernelCount) return rows;
  std::vector<double> cumulative;
  double sum = 0;
  for (const KernelRow& row : rows) cumulative.push_back(sum += row.sum);
  const double limit = quantile(cumulative, kShare);
  std::vector<KernelRow> result;
  std::vector<double> others;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i >= kernelCount || cumulative[i] > limit) {
      others.push_back(rows[i].sum);
    } else {
      result.push_back(rowOf(rows[i].type, rows[i].name, {rows[i].sum}));
    }
  }
  if (!others.empty()) result.push_back(rowOf(rows.front().type, "others", others));
  return result;
}

}  // namespace

std::vector<KernelRow> kernelBreakdown(const Run& run, const Rank& rank, size_t kernelCount) {
  std::vector<KernelRow> result;
  for (const KernelType type : {KernelType::Communication, KernelType::Computation, KernelType::Memory}) {
    std::unordered_map<size_t, std::vector<double>> byName;
    for (const std::vector<Work>* list : {&rank.work, &rank.operators}) {
      for (const Work& work : *list) {
        if (work.type == type) byName[work.name].push_back(static_cast<double>(work.dur));
      }
    }
    std::vector<KernelRow> rows;
    for (const auto& [name, durations] : byName) rows.push_back(rowOf(type, run.names[name], durations));
    rows = byFallingSum(std::move(rows));
    rows = withOthers(std::move(rows), kernelCount);
    std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) { return a.name < b.name; });
    result.insert(result.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  }
  return result;
}

}  // namespace plumb::hta
