// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_waits.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyzer/analyses/host_activity.h"
#include "analyzer/analyses/idle.h"
#include "analyzer/analyses/launched_work.h"
#include "analyzer/analyses/pageable_copies.h"
#include "analyzer/analyses/queue_refill.h"
#include "analyzer/analyses/range_times.h"
#include "analyzer/analyses/torch_ranges.h"

namespace plumb {
namespace {

constexpr const char* kWaitNames =
    "(SELECT id FROM main.string WHERE text GLOB '*Synchronize*' OR text GLOB '*Memcpy*')";

WaitsFor waitsFor(std::string_view call) {
  if (call.find("Memcpy") != std::string_view::npos) return WaitsFor::Copy;
  if (call.find("Stream") != std::string_view::npos) return WaitsFor::Stream;
  if (call.find("Event") != std::string_view::npos) return WaitsFor::Event;
  return WaitsFor::Device;
}

// CUpti_ActivitySynchronizationType
std::optional<WaitsFor> waitsFor(int64_t kind) {
  switch (kind) {
    case 1:
      return WaitsFor::Event;
    case 3:
      return WaitsFor::Stream;
    case 4:
      return WaitsFor::Device;
    default:
      return std::nullopt;  // 2: a stream waits, not the host
  }
}

class WaitFinder {
 public:
  explicit WaitFinder(Trace& trace) : m_trace(trace) {}

  Status find(const EventFilter& filter) {
    if (Status done = loadCalls(); !done.ok()) return done;
    if (Status done = loadRecords(); !done.ok()) return done;
    dropInner();
    if (m_waits.empty()) return Unit{};
    if (Status done = measureIdle(); !done.ok()) return done;
    std::erase_if(m_waits, [&](const HostWait& wait) { return !filter.keepsOnHost(wait.process, wait.time.start); });
    if (m_waits.empty()) return Unit{};
    return findSites();
  }
  std::vector<HostWait> take() { return std::move(m_waits); }

 private:
  Status loadCalls() {
    auto copies = PageableCopies::load(m_trace);
    if (!copies.ok()) return copies.error();
    auto rows = m_trace.query(
        std::string("SELECT process_id, thread_id, name_id, start_ns, duration_ns, correlation FROM main.api_call"
                    " WHERE name_id IN ") +
        kWaitNames);
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      if (!isUsableTime(row.integer(3), row.integer(4))) continue;
      HostWait wait;
      wait.process = row.id<ProcessId>(0);
      wait.thread = row.id<ThreadId>(1);
      wait.call = row.id<StringId>(2);
      const std::string_view name = m_trace.text(*wait.call);
      wait.what = waitsFor(name);
      wait.time = intervalOf(row.integer(3), row.integer(4));
      const bool waits =
          isBlockingCall(name) || copies.value().waited(wait.process, row.id<Correlation>(5), wait.time.end);
      if (!waits) continue;
      if (row.integer(5) != 0) m_byCorrelation.emplace(std::pair(row.integer(0), row.integer(5)), m_waits.size());
      m_waits.push_back(wait);
    }
    return row.status();
  }

  // What CUPTI says of the waits: the stream; and waits without a call.
  Status loadRecords() {
    auto rows = m_trace.query(
        "SELECT process_id, correlation, kind, stream_id, start_ns, duration_ns FROM main.synchronization");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    while (row.next()) {
      const auto what = waitsFor(row.integer(2));
      if (!what || !isUsableTime(row.integer(4), row.integer(5))) continue;
      std::optional<StreamId> stream;
      if (!row.isNull(3) && *what != WaitsFor::Device) stream = row.id<StreamId>(3);
      const auto call = m_byCorrelation.find({row.integer(0), row.integer(1)});
      if (row.integer(1) != 0 && call != m_byCorrelation.end()) {
        m_waits[call->second].stream = stream;
        continue;
      }
      HostWait wait;
      wait.process = row.id<ProcessId>(0);
      wait.what = *what;
      wait.stream = stream;
      wait.time = intervalOf(row.integer(4), row.integer(5));
      m_waits.push_back(wait);
    }
    return row.status();
  }

  void dropInner() {
    std::ranges::sort(m_waits, [](const HostWait& a, const HostWait& b) {
      return std::tuple(a.process, a.thread, a.time.start, b.time.end) <
             std::tuple(b.process, b.thread, b.time.start, a.time.end);
    });
    std::vector<HostWait> outer;
    for (const HostWait& wait : m_waits) {
      const bool isInside = !outer.empty() && wait.thread && outer.back().process == wait.process &&
                            outer.back().thread == wait.thread && wait.time.end <= outer.back().time.end;
      if (!isInside) {
        outer.push_back(wait);
      } else if (!outer.back().stream) {
        outer.back().stream = wait.stream;
      }
    }
    m_waits = std::move(outer);
  }

  Status measureIdle() {
    auto devices = findIdle(m_trace);
    if (!devices.ok()) return devices.error();
    std::unordered_set<ProcessId> withWork;
    for (const DeviceIdle& device : devices.value()) withWork.insert(device.timeline.process);
    for (HostWait& wait : m_waits) {
      if (wait.thread && withWork.contains(wait.process)) wait.cost.emplace();
    }
    for (const DeviceIdle& device : devices.value()) {
      for (const IdlePart& part : device.ofWaits) charge(device.timeline.process, part);
    }
    for (HostWait& wait : m_waits) {
      if (!wait.cost) continue;
      wait.cost->avoidable = std::min(wait.cost->causedIdle + wait.cost->exposedHost, wait.time.length());
    }
    return measureRefill(devices.value());
  }

  // What the waits cost in later gaps than their own.
  Status measureRefill(const std::vector<DeviceIdle>& devices) {
    const auto launches = LaunchIndex::load(m_trace);
    if (!launches.ok()) return launches.error();
    for (const DeviceIdle& device : devices) {
      std::vector<HostWait*> mine;
      for (HostWait& wait : m_waits) {
        if (wait.cost && wait.process == device.timeline.process) mine.push_back(&wait);
      }
      std::ranges::stable_sort(mine, {}, [](const HostWait* wait) { return wait->time.end; });
      std::vector<LeadOfWait> leads;
      for (const HostWait* wait : mine) {
        leads.push_back({*wait->thread, wait->time, wait->time.length() - wait->cost->avoidable, {}});
      }
      chargeRefill(device, launches.value(), leads);
      for (size_t i = 0; i < mine.size(); ++i) {
        mine[i]->cost->refill += leads[i].refill;
        mine[i]->cost->avoidable += leads[i].refill;
      }
    }
    return Unit{};
  }

  // Puts the part on the wait that it is of; m_waits are by process, thread and start.
  void charge(ProcessId process, const IdlePart& part) {
    const auto& [thread, moment] = *part.wait;
    const auto after = std::ranges::upper_bound(
        m_waits, std::tuple(process, std::optional(thread), moment), {},
        [](const HostWait& wait) { return std::tuple(wait.process, wait.thread, wait.time.start); });
    if (after == m_waits.begin()) return;
    HostWait& wait = *std::prev(after);
    if (wait.process != process || wait.thread != thread || wait.time.end <= moment || !wait.cost) return;
    if (part.cause == IdleCause::HostSynchronization) wait.cost->causedIdle += part.time.length();
    if (part.cause == IdleCause::LaunchBound || part.cause == IdleCause::Unknown) {
      wait.cost->exposedHost += part.time.length();
    }
  }

  Status findSites() {
    auto ranges = RangeForest::load(m_trace);
    if (!ranges.ok()) return ranges.error();
    PlainRangeNames plain(m_trace, PlainRangeNames::Of::Places);
    auto rows = m_trace.query("SELECT thread_id, name_id, start_ns, duration_ns FROM operator");
    if (!rows.ok()) return rows.error();
    Statement& row = rows.value();
    std::vector<HostNode> nodes;
    while (row.next()) {
      if (!isUsableTime(row.integer(2), row.integer(3))) continue;
      HostNode node;
      node.track = row.integer(0);
      node.payload = row.integer(1);
      node.time = intervalOf(row.integer(2), row.integer(3));
      nodes.push_back(node);
    }
    if (const Status status = row.status(); !status.ok()) return status.error();
    const HostForest operators(std::move(nodes));
    for (HostWait& wait : m_waits) {
      if (!wait.thread) continue;
      if (const auto node = ranges.value().innermost(*wait.thread, wait.time))
        wait.range = plain.of(ranges.value().nameOf(*node));
      if (const auto node = operators.innermost(wait.thread->value(), wait.time)) {
        wait.op = StringId(operators.nodes()[*node].payload);
      }
    }
    return Unit{};
  }

  Trace& m_trace;
  std::vector<HostWait> m_waits;
  std::map<std::pair<int64_t, int64_t>, size_t> m_byCorrelation;  // (process, correlation)
};

}  // namespace

const char* nameOf(WaitsFor what) {
  static constexpr const char* kNames[] = {"device", "stream", "event", "copy"};
  return kNames[static_cast<size_t>(what)];
}

Result<std::vector<HostWait>> findHostWaits(Trace& trace, const Filter& filter) {
  auto kept = EventFilter::load(trace, filter);
  if (!kept.ok()) return kept.error();
  WaitFinder finder(trace);
  if (const Status found = finder.find(kept.value()); !found.ok()) return found.error();
  return finder.take();
}

Result<std::vector<WaitTotals>> totalHostWaits(Trace& trace, const Filter& filter, WaitGrouping grouping) {
  auto waits = findHostWaits(trace, filter);
  if (!waits.ok()) return waits.error();
  const auto keyOf = [grouping](HostWait wait) {
    if (grouping == WaitGrouping::Thread) {
      return std::tuple(wait.process, wait.thread, std::optional<StringId>(), WaitsFor::Device,
                        std::optional<StreamId>(), std::optional<StringId>(), std::optional<StringId>());
    }
    if (grouping == WaitGrouping::Call) wait.thread.reset(), wait.range.reset(), wait.op.reset(), wait.stream.reset();
    return std::tuple(wait.process, wait.thread, wait.call, wait.what, wait.stream, wait.range, wait.op);
  };
  std::vector<WaitTotals> result;
  std::map<decltype(keyOf(HostWait())), size_t> groups;
  for (const HostWait& wait : waits.value()) {
    const auto [at, isNew] = groups.emplace(keyOf(wait), result.size());
    if (isNew) result.push_back({wait, {}, {}});
    WaitTotals& totals = result[at->second];
    totals.durations.add(wait.time.length().ns());
    if (!wait.cost) continue;
    if (!totals.cost) totals.cost.emplace();
    totals.cost->causedIdle += wait.cost->causedIdle;
    totals.cost->exposedHost += wait.cost->exposedHost;
    totals.cost->refill += wait.cost->refill;
    totals.cost->avoidable += wait.cost->avoidable;
  }
  auto order = orderOfProcesses(trace);
  std::ranges::stable_sort(result, [&](const WaitTotals& a, const WaitTotals& b) {
    const auto costOf = [](const WaitTotals& totals) {
      return totals.cost ? std::optional(std::pair(totals.cost->avoidable, totals.cost->causedIdle)) : std::nullopt;
    };
    return std::tuple(order[a.first.process], costOf(b)) < std::tuple(order[b.first.process], costOf(a));
  });
  return result;
}

}  // namespace plumb
