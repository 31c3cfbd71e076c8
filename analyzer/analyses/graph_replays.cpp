// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/graph_replays.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "analyzer/analyses/host_forest.h"
#include "analyzer/trace/row_scan.h"

namespace plumb {
namespace {

struct Capture {
  ProcessId process;
  int64_t thread = 0;
  Interval time;
  std::vector<Interval> launches;
  std::vector<int64_t> operators;  // of the launches
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

enum class CallKind : uint8_t { Begin, End, Launch, Other };

CallKind kindOf(std::string_view name) {
  if (contains(name, "StreamBeginCapture")) return CallKind::Begin;
  if (contains(name, "StreamEndCapture")) return CallKind::End;
  const bool isLaunch = contains(name, "Launch") && !contains(name, "GraphLaunch") && !contains(name, "HostFunc");
  return isLaunch || contains(name, "Memcpy") || contains(name, "Memset") ? CallKind::Launch : CallKind::Other;
}

// From the end of each call that begins a capture to the start of the one that ends it, on the same thread.
Result<std::vector<Capture>> loadCaptures(Trace& trace) {
  auto rows = trace.query(
      "SELECT a.process_id, a.thread_id, a.start_ns, a.duration_ns, a.name_id FROM main.api_call a WHERE a.name_id IN"
      " (SELECT id FROM main.string WHERE text GLOB '*Capture*' OR text GLOB '*Launch*' OR text GLOB '*Memcpy*' OR text"
      " GLOB '*Memset*') AND EXISTS (SELECT 1 FROM main.string WHERE text GLOB '*StreamBeginCapture*')"
      " ORDER BY a.process_id, a.thread_id, a.start_ns");
  if (!rows.ok()) return rows.error();
  std::vector<Capture> captures;
  std::optional<Capture> open;
  Statement& row = rows.value();
  while (row.next()) {
    const ProcessId process = row.id<ProcessId>(0);
    const int64_t thread = row.integer(1);
    if (!isUsableTime(row.integer(2), row.integer(3))) continue;
    const Interval time = intervalOf(row.integer(2), row.integer(3));
    if (open && (open->process != process || open->thread != thread)) open.reset();
    switch (kindOf(trace.text(row.id<StringId>(4)))) {
      case CallKind::Begin:
        open = Capture{process, thread, {time.end, time.end}, {}, {}};
        break;
      case CallKind::End:
        if (!open) break;
        open->time.end = time.start;
        captures.push_back(std::move(*open));
        open.reset();
        break;
      case CallKind::Launch:
        if (open) open->launches.push_back(time);
        break;
      case CallKind::Other:
        break;
    }
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return captures;
}

// The innermost operator around each launch.
Status findOperators(Trace& trace, std::vector<Capture>& captures) {
  std::set<int64_t> threads;
  for (const Capture& capture : captures) threads.insert(capture.thread);
  std::vector<HostNode> nodes;
  const Status read =
      scanRows(trace.database(), "id, start_ns, duration_ns, thread_id", "operator", [&](const RowValues& row) {
        const int64_t thread = row.integer(3);
        if (!threads.contains(thread) || !isUsableTime(row.integer(1), row.integer(2))) return;
        HostNode& node = nodes.emplace_back();
        node.track = thread;
        node.time = intervalOf(row.integer(1), row.integer(2));
        node.payload = row.integer(0);
      });
  if (!read.ok()) return read;
  const HostForest forest(std::move(nodes));
  for (Capture& capture : captures) {
    for (const Interval& launch : capture.launches) {
      const auto node = forest.innermost(capture.thread, launch);
      capture.operators.push_back(node ? forest.nodes()[*node].payload : 0);
    }
  }
  return Unit{};
}

}  // namespace

Result<GraphReplays> findGraphReplays(Trace& trace, const std::vector<DeviceTimeline>& devices) {
  GraphReplays result;
  std::map<std::pair<ProcessId, Correlation>, std::vector<const DeviceEvent*>> launches;
  for (const DeviceTimeline& device : devices) {
    for (const DeviceEvent& event : device.events) {
      if (event.isFromGraph) launches[{device.process, event.correlation}].push_back(&event);
    }
  }
  if (launches.empty()) return result;
  auto captures = loadCaptures(trace);
  if (!captures.ok()) return captures.error();
  if (const Status found = findOperators(trace, captures.value()); !found.ok()) return found.error();
  result.captureCount = static_cast<int64_t>(captures.value().size());
  const auto rankOfProcess = [&](ProcessId id) {
    const Process* process = trace.process(id);
    return process ? process->rank : std::nullopt;
  };
  std::unordered_map<size_t, std::vector<const Capture*>> byLaunchCount;
  for (const Capture& capture : captures.value()) byLaunchCount[capture.launches.size()].push_back(&capture);
  for (auto& [key, work] : launches) {
    std::ranges::stable_sort(work, [](const DeviceEvent* a, const DeviceEvent* b) {
      return a->time.start < b->time.start;  // several devices
    });
    std::vector<const Capture*> fitting;
    if (const auto alike = byLaunchCount.find(work.size()); alike != byLaunchCount.end()) {
      for (const Capture* capture : alike->second) {
        const bool isSameRank =
            capture->process == key.first || rankOfProcess(capture->process) == rankOfProcess(key.first);
        if (isSameRank) fitting.push_back(capture);
        if (fitting.size() > 1) break;  // it cannot be told which
      }
    }
    result.replays.push_back({key.first, key.second, std::move(work),
                              fitting.size() == 1 ? fitting.front()->operators : std::vector<int64_t>()});
  }
  return result;
}

}  // namespace plumb
