// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/range_times.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/autograd_threads.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/torch_ranges.h"
#include "analyzer/analyses/windows.h"

namespace plumb {
namespace {

using Range = RangeForest::Range;

constexpr const char* kSeparator = " > ";

HostNode nodeOf(const Range& range, size_t index, int64_t track) {
  HostNode node;
  node.track = track;
  node.depth = range.depth;
  node.payload = static_cast<int64_t>(index);
  node.isOpen = !range.duration;
  node.time = {range.start, range.duration ? range.start + *range.duration : kAllTime.end};
  return node;
}

// What the totals of a range need: from the forest that it is in.
struct RangeFacts {
  Duration self;
  Projection gpu;
  int64_t parent = -1;  // index of a range
};

class RangeTotaller {
 public:
  RangeTotaller(Trace& trace, const RangeForest& ranges, RangeGrouping grouping)
      : m_trace(trace), m_ranges(ranges.ranges()), m_forest(ranges.forest()), m_grouping(grouping) {
    PlainRangeNames plain(trace);
    m_names.reserve(m_ranges.size());
    for (const Range& range : m_ranges) m_names.push_back(plain.of(range.name));
  }

  Status loadWork() {
    auto classifier = CommunicationClassifier::load(m_trace);
    if (!classifier.ok()) return classifier.error();
    auto calls = HostCallIndex::load(m_trace);
    if (!calls.ok()) return calls.error();
    LaunchCounts launches;
    const Status read = forEachLaunchedWork(m_trace, classifier.value(), calls.value(), [&](const LaunchedWork& work) {
      if (!work.call) return;
      m_work.push_back({work.call->thread.value(), work.call->time, work.time});
      if (m_grouping == RangeGrouping::AllThreads) m_process.push_back(work.process);
      ++launches[work.process][work.call->thread];
    });
    if (!read.ok() || m_grouping == RangeGrouping::AllThreads || m_grouping == RangeGrouping::OwnThread) return read;
    return handOverBackwardWork(launches);
  }

  std::vector<RangeTotals> total(const EventFilter& filter) {
    findFacts();
    findPaths();
    std::vector<RangeTotals> result;
    std::map<std::array<int64_t, 3>, size_t> groups;
    for (size_t i = 0; i < m_ranges.size(); ++i) {
      const Range& range = m_ranges[i];
      if (!filter.keepsOnHost(range.process, range.start)) continue;
      const auto [at, isNew] = groups.emplace(keyOf(i), result.size());
      if (isNew) result.push_back(begin(i));
      add(result[at->second], range, m_facts[i]);
    }
    if (m_grouping != RangeGrouping::Path) return result;
    std::vector<RangeTotals> asTree;
    for (const int64_t path : pathsAsTree()) {
      const auto group = groups.find({path, 0, 0});
      if (group != groups.end()) asTree.push_back(std::move(result[group->second]));
    }
    return asTree;
  }

 private:
  using LaunchCounts = std::unordered_map<ProcessId, std::map<ThreadId, int64_t>>;

  // What autograd's threads launched once more, as work of the thread that waits for them.
  Status handOverBackwardWork(const LaunchCounts& launches) {
    const bool haveOthers =
        std::ranges::any_of(launches, [](const auto& process) { return process.second.size() > 1; });
    if (!haveOthers) return Unit{};
    const auto autograd = findAutogradThreads(m_trace);
    if (!autograd.ok()) return autograd.error();
    std::unordered_map<int64_t, int64_t> waits;  // by autograd's thread: who waits for it
    for (const auto& [process, threads] : launches) {
      std::optional<ThreadId> most;
      for (const auto& [thread, count] : threads) {
        if (autograd.value().contains(thread)) continue;
        if (!most || count > threads.at(*most)) most = thread;
      }
      if (!most) continue;
      for (const auto& [thread, count] : threads) {
        if (autograd.value().contains(thread)) waits[thread.value()] = most->value();
      }
    }
    const size_t count = m_work.size();
    for (size_t i = 0; i < count; ++i) {
      if (const auto who = waits.find(m_work[i].track); who != waits.end()) {
        m_work.push_back({who->second, m_work[i].call, m_work[i].gpu});
      }
    }
    return Unit{};
  }

  void take(const HostForest& forest, const std::vector<Projection>& projections, bool withHost) {
    for (size_t node = 0; node < forest.nodes().size(); ++node) {
      const HostNode& n = forest.nodes()[node];
      RangeFacts& facts = m_facts[static_cast<size_t>(n.payload)];
      facts.gpu = projections[node];
      if (!withHost) continue;
      facts.self = n.time.length() - n.covered;
      if (n.parent >= 0) facts.parent = forest.nodes()[static_cast<size_t>(n.parent)].payload;
    }
  }

  void findFacts() {
    m_facts.resize(m_ranges.size());
    take(m_forest, m_forest.project(m_work), true);
    std::vector<HostNode> others;
    for (size_t i = 0; i < m_ranges.size(); ++i) {
      if (m_ranges[i].nests || !m_ranges[i].duration) continue;
      m_facts[i].self = *m_ranges[i].duration;
      others.push_back(nodeOf(m_ranges[i], i, m_ranges[i].thread.value()));
    }
    for (std::vector<HostNode>& group : splitIntoNested(std::move(others))) {
      const HostForest forest(std::move(group));
      take(forest, forest.project(m_work), false);
    }
    if (m_grouping == RangeGrouping::AllThreads) projectOnAllThreads();
  }

  // Each thread's ranges against the work of the whole process.
  void projectOnAllThreads() {
    for (size_t i = 0; i < m_work.size(); ++i) m_work[i].track = m_process[i].value();
    std::vector<HostNode> nodes;
    for (size_t i = 0; i < m_ranges.size(); ++i) {
      if (m_ranges[i].duration) nodes.push_back(nodeOf(m_ranges[i], i, m_ranges[i].process.value()));
    }
    for (HostNode& node : nodes) node.depth = 0;  // of different threads
    for (std::vector<HostNode>& group : splitIntoNested(std::move(nodes))) {
      const HostForest forest(std::move(group));
      take(forest, forest.project(m_work), false);
    }
  }

  // Equal paths get one number; parents come before children in the forest.
  void findPaths() {
    if (m_grouping != RangeGrouping::Path && m_grouping != RangeGrouping::Instance) return;
    m_path.assign(m_ranges.size(), -1);
    std::map<std::tuple<int64_t, ProcessId, StringId, StringId>, int64_t> numbers;  // (parent's path, …)
    const auto number = [&](size_t i) {
      const Range& range = m_ranges[i];
      const int64_t parent = m_facts[i].parent;
      const int64_t outer = parent < 0 ? -1 : m_path[static_cast<size_t>(parent)];
      const auto [at, isNew] = numbers.emplace(std::tuple(outer, range.process, range.domain, m_names[i]),
                                               static_cast<int64_t>(m_pathNames.size()));
      if (isNew) {
        const std::string name(torchRangeName(m_trace.text(range.name)).name);
        m_pathNames.push_back(outer < 0 ? name : m_pathNames[static_cast<size_t>(outer)] + kSeparator + name);
        m_pathParents.push_back(outer);
        m_pathDepths.push_back(outer < 0 ? 0 : m_pathDepths[static_cast<size_t>(outer)] + 1);
      }
      m_path[i] = at->second;
    };
    for (const HostNode& node : m_forest.nodes()) number(static_cast<size_t>(node.payload));
    for (size_t i = 0; i < m_ranges.size(); ++i) {
      if (m_path[i] < 0) number(i);
    }
  }

  // Parents before what is inside, siblings as they first occurred.
  std::vector<int64_t> pathsAsTree() const {
    std::vector<std::vector<int64_t>> inside(m_pathNames.size());
    std::vector<int64_t> rest, result;
    for (size_t path = m_pathNames.size(); path-- > 0;) {
      (m_pathParents[path] < 0 ? rest : inside[static_cast<size_t>(m_pathParents[path])])
          .push_back(static_cast<int64_t>(path));
    }
    while (!rest.empty()) {
      const int64_t path = rest.back();
      rest.pop_back();
      result.push_back(path);
      const std::vector<int64_t>& next = inside[static_cast<size_t>(path)];
      rest.insert(rest.end(), next.begin(), next.end());
    }
    return result;
  }

  std::array<int64_t, 3> keyOf(size_t i) const {
    const Range& range = m_ranges[i];
    switch (m_grouping) {
      case RangeGrouping::Instance:
        return {static_cast<int64_t>(i), 0, 0};
      case RangeGrouping::Path:
        return {m_path[i], 0, 0};
      default:
        return {range.process.value(), range.domain.value(), m_names[i].value()};
    }
  }

  RangeTotals begin(size_t i) const {
    const Range& range = m_ranges[i];
    RangeTotals totals;
    totals.process = range.process;
    totals.domain = range.domain;
    if (m_grouping == RangeGrouping::Instance) {
      totals.name = m_trace.text(range.name);
    } else if (m_path.empty()) {
      totals.name = torchRangeName(m_trace.text(range.name)).name;
    } else {
      totals.name = m_pathNames[static_cast<size_t>(m_path[i])];
    }
    if (!m_path.empty()) totals.depth = m_pathDepths[static_cast<size_t>(m_path[i])];
    if (m_grouping == RangeGrouping::Instance) {
      totals.thread = range.thread;
      totals.range = range.id;
      totals.start = range.start;
      if (m_facts[i].gpu.count > 0 && range.duration) totals.gpuStart = m_facts[i].gpu.hull.start;
    }
    return totals;
  }

  static void add(RangeTotals& totals, const Range& range, const RangeFacts& facts) {
    if (!range.duration) {
      ++totals.openCount;
      return;
    }
    totals.host.add(range.duration->ns());
    totals.self += facts.self;
    totals.gpuEventCount += facts.gpu.count;
    totals.gpuTotal += facts.gpu.total;
    totals.gpuBusy += facts.gpu.busy;
    if (facts.gpu.count > 0) totals.gpuSpan.add(facts.gpu.hull.length().ns());
  }

  Trace& m_trace;
  const std::vector<Range>& m_ranges;
  const HostForest& m_forest;
  RangeGrouping m_grouping;
  std::vector<Projected> m_work;     // track: thread
  std::vector<ProcessId> m_process;  // of the work
  std::vector<RangeFacts> m_facts;   // by range
  std::vector<StringId> m_names;     // by range: its name, without the numbers of emit_nvtx
  std::vector<int64_t> m_path;       // by range: index of the following
  std::vector<std::string> m_pathNames;
  std::vector<int64_t> m_pathDepths, m_pathParents;
};

}  // namespace

Result<RangeForest> RangeForest::load(Trace& trace) {
  RangeForest result;
  std::vector<StringId> deviceDomains;  // of what profilers draw on the device
  for (const char* domain : {"gpu_user_annotation", "cuda_profiler_range", "Trace"}) {
    auto id = trace.findText(domain);
    if (!id.ok()) return id.error();
    if (id.value()) deviceDomains.push_back(*id.value());
  }
  auto rows = trace.query(
      "SELECT id, process_id, thread_id, domain_id, name_id, depth, start_ns, duration_ns, kind = 'push_pop'"
      " FROM main.range WHERE kind <> 'mark'");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  std::vector<HostNode> nodes;
  while (row.next()) {
    const bool isOpen = row.isNull(7);
    Range range{row.id<RangeId>(0), row.id<ProcessId>(1), row.id<ThreadId>(2), row.id<StringId>(3), row.id<StringId>(4),
                row.integer(5),     row.time(6),          std::nullopt,        row.integer(8) != 0};
    if (!range.nests && std::ranges::count(deviceDomains, range.domain)) continue;
    if (!isUsableTime(row.integer(6), isOpen ? 0 : row.integer(7))) continue;
    if (!isOpen) range.duration = Duration(row.integer(7));
    if (range.nests) nodes.push_back(nodeOf(range, result.m_ranges.size(), range.thread.value()));
    result.m_ranges.push_back(range);
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  result.m_forest = HostForest(std::move(nodes));
  return result;
}

Result<std::vector<RangeTotals>> totalRanges(Trace& trace, const Filter& filter, RangeGrouping grouping) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto ranges = RangeForest::load(trace);
  if (!ranges.ok()) return ranges.error();
  RangeTotaller totaller(trace, ranges.value(), grouping);
  if (const Status loaded = totaller.loadWork(); !loaded.ok()) return loaded.error();
  std::vector<RangeTotals> totals = totaller.total(kept.value());

  auto order = orderOfProcesses(trace);
  if (grouping != RangeGrouping::Path && grouping != RangeGrouping::Instance) {
    std::vector<std::pair<int64_t, size_t>> longest;
    for (size_t i = 0; i < totals.size(); ++i) longest.emplace_back(-totals[i].host.statistics().total, i);
    std::ranges::sort(longest, [&](const auto& a, const auto& b) {
      return std::tuple(order[totals[a.second].process], a.first, a.second) <
             std::tuple(order[totals[b.second].process], b.first, b.second);
    });
    std::vector<RangeTotals> sorted;
    for (const auto& [length, i] : longest) sorted.push_back(std::move(totals[i]));
    return sorted;
  }
  std::ranges::stable_sort(totals, [&](const RangeTotals& a, const RangeTotals& b) {
    if (a.process != b.process) return order[a.process] < order[b.process];
    return grouping == RangeGrouping::Instance && *a.start < *b.start;
  });
  return totals;
}

}  // namespace plumb
