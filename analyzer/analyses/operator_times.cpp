// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/operator_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/analyses/range_times.h"
#include "analyzer/analyses/time_clause.h"
#include "analyzer/analyses/torch_ranges.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/trace/row_scan.h"

namespace plumb {
namespace {

constexpr const char* kSources[] = {"framework", "library", "range"};

struct GpuTime {
  Duration self, total;
  int64_t count = 0;  // total
};

// Hands what the GPU did up to the operators around, the innermost first.
void sumUp(const std::vector<OperatorCall>& calls, std::vector<GpuTime>& times) {
  std::vector<int32_t> inside(calls.size());
  for (const OperatorCall& call : calls) {
    if (call.parent >= 0) ++inside[static_cast<size_t>(call.parent)];
  }
  for (GpuTime& time : times) time.total = time.self;
  for (size_t i = 0; i < calls.size(); ++i) {
    // Up from each one that nothing inside is missing of; a damaged file's circle is never entered.
    int64_t at = inside[i] == 0 ? static_cast<int64_t>(i) : -1;
    while (at >= 0) {
      inside[static_cast<size_t>(at)] = -1;
      const int64_t parent = calls[static_cast<size_t>(at)].parent;
      if (parent < 0) break;
      times[static_cast<size_t>(parent)].total += times[static_cast<size_t>(at)].total;
      times[static_cast<size_t>(parent)].count += times[static_cast<size_t>(at)].count;
      at = --inside[static_cast<size_t>(parent)] == 0 ? parent : -1;
    }
  }
}

}  // namespace

Result<std::optional<Interval>> operatorTimes(Trace& trace, const EventFilter& kept) {
  std::optional<Interval> times = hullOf(trace, kept, Side::Host);
  if (kept.keepsAll() || !times) return std::optional<Interval>();
  TimePoint last = times->end;
  const Status read =
      scanRows(trace.database(), "start_ns, duration_ns",
               "operator NOT INDEXED WHERE " + mayBegin(trace, kept, Side::Host), [&](const RowValues& row) {
                 if (isUsableTime(row.integer(0), row.integer(1)))
                   last = std::max(last, row.time(0) + Duration(row.integer(1)));
               });
  if (!read.ok()) return read.error();
  times->end = last;
  return times;
}

Result<OperatorIndex> OperatorIndex::load(Trace& trace) {
  OperatorIndex index;
  if (const Status done = index.loadFramework(trace, {}); !done.ok()) return done.error();
  if (const Status done = index.loadOwn(trace); !done.ok()) return done.error();
  return index;
}

Result<OperatorIndex> OperatorIndex::load(Trace& trace, const EventFilter& kept) {
  const auto times = operatorTimes(trace, kept);
  if (!times.ok()) return times.error();
  if (!times.value()) return load(trace);
  OperatorIndex index;
  if (const Status done = index.loadFramework(trace, times.value()); !done.ok()) return done.error();
  if (const Status done = index.loadOwn(trace); !done.ok()) return done.error();
  // What a framework's operator launched would seem to be that of a range, if the operator is not there.
  if (index.findsByCall()) return load(trace);
  return index;
}

// With times only those that begin in there.
Status OperatorIndex::loadFramework(Trace& trace, std::optional<Interval> times) {
  std::vector<int64_t> ids;  // of m_calls, in order: the table is read in that of its key
  constexpr int64_t kNoParent = INT64_MIN;
  std::vector<int64_t> parents;  // ids
  if (!times) {
    const size_t expected = rowsPerPart(trace, "operator", 1);
    m_calls.reserve(expected);
    ids.reserve(expected);
    parents.reserve(expected);
  }
  const std::string chosen =
      times ? fmt::format(" WHERE start_ns >= {} AND start_ns < {}", times->start.ns(), times->end.ns()) : "";
  const Status read = scanRows(
      trace.database(), "id, process_id, name_id, argument_set_id, start_ns, duration_ns, parent_id, thread_id",
      "operator NOT INDEXED" + chosen, [&](const RowValues& row) {
        if (!isUsableTime(row.integer(4), row.integer(5))) return;
        ids.push_back(row.integer(0));
        parents.push_back(row.isNull(6) ? kNoParent : row.integer(6));
        const Duration length(row.integer(5));
        m_calls.push_back({row.id<ProcessId>(1), OperatorSource::Framework, row.id<StringId>(2), row.integer(3),
                           row.id<ThreadId>(7), row.time(4), length, length});
      });
  if (!read.ok()) return read;
  if (m_calls.empty()) return Unit{};
  size_t hint = 0;
  const auto indexOf = [&](int64_t id) {
    hint = partitionPointNear(ids, hint, [id](int64_t other) { return other < id; });
    return hint < ids.size() && ids[hint] == id ? std::optional(hint) : std::nullopt;
  };
  for (size_t index = 0; index < m_calls.size(); ++index) {
    const auto parent = parents[index] == kNoParent ? std::nullopt : indexOf(parents[index]);
    if (!parent || *parent == index) continue;
    m_calls[index].parent = static_cast<int64_t>(*parent);
    OperatorCall& outer = m_calls[*parent];
    outer.cpuSelf = std::max(Duration(), outer.cpuSelf - m_calls[index].cpu);
  }
  const std::string launched =
      times ? fmt::format(" WHERE operator_id BETWEEN {} AND {}", ids.front(), ids.back()) : std::string();
  return scanRows(trace.database(), "process_id, correlation, operator_id", "operator_launch" + launched,
                  [&](const RowValues& row) {
                    const auto index = indexOf(row.integer(2));
                    if (index) m_byCorrelation[{row.integer(0), row.integer(1)}] = static_cast<int64_t>(*index);
                  });
}

void OperatorIndex::addNode(std::vector<HostNode>& nodes, OperatorCall call, int64_t depth) {
  HostNode node;
  node.track = call.thread.value();
  node.time = {call.start, call.start + call.cpu};
  node.depth = depth;
  node.payload = static_cast<int64_t>(m_calls.size());
  nodes.push_back(node);
  m_calls.push_back(call);
}

// Library calls and the ranges that declare operations, nested by their times.
Status OperatorIndex::loadOwn(Trace& trace) {
  std::vector<HostNode> nodes;
  auto declared = trace.query(
      "SELECT r.process_id, r.name_id, r.thread_id, r.start_ns, r.duration_ns, r.depth"
      " FROM (SELECT DISTINCT range_id FROM main.range_payload WHERE name_id IN"
      "       (SELECT id FROM main.string WHERE text IN ('flops', 'bytes'))) d"
      " JOIN main.range r ON r.id = d.range_id WHERE r.kind = 'push_pop' AND r.duration_ns IS NOT NULL");
  if (!declared.ok()) return declared.error();
  Statement& row = declared.value();
  while (row.next()) {
    if (!isUsableTime(row.integer(3), row.integer(4))) continue;
    addNode(nodes,
            {row.id<ProcessId>(0), OperatorSource::Range, row.id<StringId>(1), 0, row.id<ThreadId>(2), row.time(3),
             Duration(row.integer(4)), Duration()},
            row.integer(5));
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  if (Status done = loadLibraryCalls(trace, nodes); !done.ok()) return done;
  if (Status done = loadTorchRanges(trace, nodes); !done.ok()) return done;
  if (nodes.empty()) return Unit{};
  m_forest = HostForest(std::move(nodes));
  for (const HostNode& node : m_forest.nodes()) {
    OperatorCall& mine = m_calls[static_cast<size_t>(node.payload)];
    mine.cpuSelf = node.time.length() - node.covered;
    if (node.parent >= 0) mine.parent = m_forest.nodes()[static_cast<size_t>(node.parent)].payload;
  }
  return Unit{};
}

Status OperatorIndex::loadLibraryCalls(Trace& trace, std::vector<HostNode>& nodes) {
  auto rows = trace.query(
      "SELECT process_id, thread_id, name_id, start_ns, duration_ns, external_id, m, n, k, batch, compute_type_id"
      " FROM main.library_call");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  std::unordered_map<Key, int64_t, KeyHash> byExternal;
  while (row.next()) {
    if (!isUsableTime(row.integer(3), row.integer(4))) continue;
    std::string shape = fmt::format("m {} n {} k {}", row.integer(6), row.integer(7), row.integer(8));
    if (row.integer(9) != 1) shape += fmt::format(" batch {}", row.integer(9));
    shape += fmt::format(" {}", trace.text(row.id<StringId>(10)));
    byExternal[{row.integer(0), row.integer(5)}] = static_cast<int64_t>(m_calls.size());
    // Deeper than any range that begins with it.
    addNode(nodes,
            {row.id<ProcessId>(0), OperatorSource::Library, row.id<StringId>(2), shapeNumber(std::move(shape)),
             row.id<ThreadId>(1), row.time(3), Duration(row.integer(4)), Duration()},
            INT_MAX);
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  if (byExternal.empty()) return Unit{};
  auto links = trace.query("SELECT process_id, external_id, correlation FROM main.correlation_link");
  if (!links.ok()) return links.error();
  Statement& link = links.value();
  while (link.next()) {
    const auto index = byExternal.find({link.integer(0), link.integer(1)});
    if (index != byExternal.end()) m_byCorrelation.try_emplace({link.integer(0), link.integer(2)}, index->second);
  }
  return link.status();
}

Status OperatorIndex::loadTorchRanges(Trace& trace, std::vector<HostNode>& nodes) {
  auto rows = trace.query(
      "SELECT process_id, name_id, thread_id, start_ns, duration_ns, depth FROM main.range WHERE kind = 'push_pop'"
      " AND duration_ns IS NOT NULL AND name_id IN (SELECT id FROM main.string WHERE text LIKE '%, seq = %'"
      " OR text LIKE '%, op_id = %')");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  struct Parts {
    StringId name;
    int64_t shape = 0;
  };
  std::unordered_map<StringId, Parts> partsOf;
  std::unordered_map<std::string, StringId> names;
  while (row.next()) {
    if (!isUsableTime(row.integer(3), row.integer(4))) continue;
    const auto [parts, isNew] = partsOf.try_emplace(row.id<StringId>(1));
    if (isNew) {
      const std::string_view text = trace.text(row.id<StringId>(1));
      const TorchRangeName torch = torchRangeName(text);
      const std::string name(torch.name);
      const auto [known, isNewName] = names.emplace(name, StringId(-1 - static_cast<int64_t>(m_names.size())));
      if (isNewName) m_names.push_back(name);
      parts->second.name = known->second;
      if (!torch.sizes.empty()) parts->second.shape = shapeNumber(std::string(torch.sizes));
    }
    addNode(nodes,
            {row.id<ProcessId>(0), OperatorSource::Range, parts->second.name, parts->second.shape, row.id<ThreadId>(2),
             row.time(3), Duration(row.integer(4)), Duration()},
            row.integer(5));
  }
  return row.status();
}

int64_t OperatorIndex::shapeNumber(std::string shape) {
  const auto [at, isNew] = m_shapeNumbers.emplace(std::move(shape), static_cast<int64_t>(m_shapes.size()) + 1);
  if (isNew) m_shapes.push_back(at->first);
  return at->second;
}

std::string_view OperatorIndex::shapeOf(int64_t shape) const {
  return shape > 0 ? std::string_view(m_shapes[static_cast<size_t>(shape - 1)]) : std::string_view();
}

std::string_view OperatorIndex::nameOf(Trace& trace, StringId name) const {
  // A damaged file may have negative ids of its own.
  const auto cut = static_cast<size_t>(-1 - name.value());  // huge for all that are none
  return cut < m_names.size() ? std::string_view(m_names[cut]) : trace.text(name);
}

std::optional<size_t> OperatorIndex::find(const LaunchedWork& work) const {
  const auto linked = m_byCorrelation.find({work.process.value(), work.correlation.value()});
  if (linked != m_byCorrelation.end()) return static_cast<size_t>(linked->second);
  if (!work.call) return std::nullopt;
  const auto node = m_forest.innermost(work.call->thread.value(), work.call->time);
  if (!node) return std::nullopt;
  return static_cast<size_t>(m_forest.nodes()[*node].payload);
}

Result<std::vector<OperatorTotals>> totalOperators(Trace& trace, const Filter& filter, OperatorGrouping grouping) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  auto loaded = OperatorIndex::load(trace, kept.value());
  if (!loaded.ok()) return loaded.error();
  const OperatorIndex& index = loaded.value();
  auto classifier = CommunicationClassifier::load(trace);
  if (!classifier.ok()) return classifier.error();
  auto hostCalls = index.findsByCall() ? HostCallIndex::load(trace) : Result<HostCallIndex>(HostCallIndex());
  if (!hostCalls.ok()) return hostCalls.error();
  std::vector<GpuTime> times(index.calls().size());
  std::map<ProcessId, GpuTime> withoutOperator;
  const Status read = forEachLaunchedWork(trace, classifier.value(), hostCalls.value(), [&](const LaunchedWork& work) {
    if (const auto found = index.find(work)) {
      times[*found].self += work.time.length();
      ++times[*found].count;
      return;
    }
    const auto& filtered = kept.value();
    if (!(work.call ? filtered.keepsOnHost(work.process, work.call->time.start)
                    : filtered.keepsOnGpu(work.process, work.time.start)))
      return;
    GpuTime& rest = withoutOperator[work.process];
    rest.self += work.time.length();
    ++rest.count;
  });
  if (!read.ok()) return read.error();
  sumUp(index.calls(), times);

  const bool byShape = grouping == OperatorGrouping::Shape;
  std::unordered_map<int64_t, StringId> argumentTexts;
  if (byShape) {
    auto rows = trace.query("SELECT id, dims_id FROM operator_argument_set");
    if (!rows.ok()) return rows.error();
    while (rows.value().next()) argumentTexts.emplace(rows.value().integer(0), rows.value().id<StringId>(1));
    if (const Status status = rows.value().status(); !status.ok()) return status.error();
  }
  std::vector<OperatorTotals> result;
  std::map<std::tuple<ProcessId, OperatorSource, StringId, int64_t>, size_t> groups;
  for (size_t i = 0; i < index.calls().size(); ++i) {
    const OperatorCall& call = index.calls()[i];
    if (!kept.value().keepsOnHost(call.process, call.start)) continue;
    int64_t shape = 0;
    if (byShape && call.source == OperatorSource::Framework) {
      const auto text = argumentTexts.find(call.shape);
      shape = text == argumentTexts.end() ? 0 : text->second.value();
    } else if (byShape) {
      shape = call.shape;
    }
    const auto [at, isNew] = groups.emplace(std::tuple(call.process, call.source, call.name, shape), result.size());
    if (isNew) {
      OperatorTotals& totals = result.emplace_back();
      totals.process = call.process;
      totals.source = kSources[static_cast<size_t>(call.source)];
      totals.name = index.nameOf(trace, call.name);
      if (byShape) {
        totals.shape = call.source == OperatorSource::Framework ? trace.text(StringId(shape)) : index.shapeOf(shape);
      }
    }
    OperatorTotals& totals = result[at->second];
    totals.cpu.add(call.cpu.ns());
    totals.cpuSelf += call.cpuSelf;
    totals.gpuSelf += times[i].self;
    totals.gpuTotal += times[i].total;
    totals.gpuEventCount += times[i].count;
  }
  std::set<ProcessId> withOperators;
  for (const OperatorTotals& totals : result) withOperators.insert(totals.process);
  for (const ProcessId process : withOperators) {
    const auto rest = withoutOperator.find(process);
    if (rest == withoutOperator.end()) continue;
    OperatorTotals& totals = result.emplace_back();
    totals.process = process;
    totals.source = kNoOperator;
    totals.name = kNoOperatorName;
    totals.gpuSelf = totals.gpuTotal = rest->second.self;
    totals.gpuEventCount = rest->second.count;
  }
  auto order = orderOfProcesses(trace);
  std::ranges::stable_sort(result, [&](const OperatorTotals& a, const OperatorTotals& b) {
    return std::tuple(order[a.process], b.gpuSelf, b.cpuSelf) < std::tuple(order[b.process], a.gpuSelf, a.cpuSelf);
  });
  return result;
}

}  // namespace plumb
