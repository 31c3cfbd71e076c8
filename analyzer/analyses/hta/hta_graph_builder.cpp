// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <future>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/hta/hta_critical_graph.h"
#include "analyzer/analyses/hta/hta_launches.h"
#include "analyzer/analyses/hta/hta_sort.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/sort_runs.h"

namespace plumb::hta {
namespace {

constexpr size_t kMostReserved = size_t{1} << 26;
enum : int64_t { kEventSync = 1, kStreamWaitEvent = 2, kStreamSync = 3, kContextSync = 4 };

bool isBlockingCall(std::string_view name) {
  static const std::set<std::string_view> kNames = {
      "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventQuery", "cudaEventSynchronize", "cudaMemcpy",
      "cudaMemcpyAsync"};
  return kNames.count(name) > 0;
}

// The last of a list's elements by correlation id.
class LastByCorrelation {
 public:
  template <class Element>
  explicit LastByCorrelation(const std::vector<Element>& list) {
    m_places.reserve(list.size());
    for (const Element& element : list) {
      m_places.push_back({element.correlation, static_cast<uint32_t>(m_places.size())});
    }
    sortRuns(m_places, [](const Place& a, const Place& b) { return a.correlation < b.correlation; });
  }
  // An index, kNone when there is none. Cheap when ids are asked for in order.
  [[nodiscard]] uint32_t find(int64_t correlation) {
    m_hint = partitionPointNear(m_places, m_hint, [&](const Place& one) { return one.correlation <= correlation; });
    return m_hint > 0 && m_places[m_hint - 1].correlation == correlation ? m_places[m_hint - 1].index : kNone;
  }

 private:
  struct Place {
    int64_t correlation;
    uint32_t index;
  };
  std::vector<Place> m_places;
  size_t m_hint = 0;
};

class Builder {
 public:
  Builder(Trace& trace, const Rank& rank, const HostEvents& host, Period period)
      : m_trace(trace), m_rank(rank), m_host(host), m_period(period) {}

  Result<CriticalGraph> build() && {
    // Beside the reading of the file, and then beside the sorting of the nodes.
    std::future<void> queues = alongside([this] { findQueueLengths(); });
    link();
    m_graph.events.reserve(std::min(m_host.count(m_rank) + m_rank.work.size(), kMostReserved));
    if (const Status added = addHostEvents(); !added.ok()) return added.error();
    addWork();
    std::future<void> orders = alongside([this] { findOrders(); });
    m_graph.numberNodes();
    orders.get();
    addThreads();
    queues.get();
    findRecordedLaunches();
    findLaunchesAfterWaits();
    addStreams();
    return std::move(m_graph);
  }

 private:
  // On a thread of its own, where there can be one.
  template <class Task>
  static std::future<void> alongside(Task task) {
    return std::async(std::launch::async | std::launch::deferred, std::move(task));
  }

  // A piece of GPU work as the loop over the streams sees it.
  struct Item {
    int64_t sortBy;
    uint32_t work;  // index into Rank::work, kNone for a wait that bears no stream
    uint32_t wait;  // index into Rank::deviceWaits of that
  };

  // Whether a call has one of the names; each name is looked at once.
  class CallTest {
   public:
    CallTest(Trace& trace, bool (*test)(std::string_view)) : m_trace(trace), m_test(test) {}
    [[nodiscard]] bool operator()(StringId name) {
      const auto [known, isNew] = m_known.emplace(name, false);
      if (isNew) known->second = m_test(m_trace.text(name));
      return known->second;
    }

   private:
    Trace& m_trace;
    bool (*m_test)(std::string_view);
    std::unordered_map<StringId, bool> m_known;
  };
  [[nodiscard]] bool isInPeriod(int64_t ts) const { return ts >= m_period.start && ts <= m_period.end; }

  // The last call of a correlation id is its work's; the last piece of work is its call's.
  void link() {
    LastByCorrelation calls(m_rank.calls), work(m_rank.work);
    m_callOf.reserve(m_rank.work.size());
    for (const Work& one : m_rank.work) m_callOf.push_back(calls.find(one.correlation));
    m_workOf.reserve(m_rank.calls.size());
    for (const Call& call : m_rank.calls) m_workOf.push_back(work.find(call.correlation));
    for (const Work& wait : m_rank.deviceWaits) m_callOfWait.push_back(calls.find(wait.correlation));
  }

  Status addHostEvents() {
    m_eventOfCall.assign(m_rank.calls.size(), kNone);
    CallTest isBlocking(m_trace, isBlockingCall);
    std::vector<uint32_t>* events = nullptr;  // of the thread of the last one
    ThreadId thread;
    return m_host.forEach(m_rank, [&](const HostEvent& host) {
      if (host.dur <= 0 || !isInPeriod(host.ts)) return;
      const auto index = static_cast<uint32_t>(m_graph.events.size());
      GraphEvent& event = m_graph.events.emplace_back();
      event.ts = host.ts;
      event.end = host.ts + host.dur;
      event.what = host.name.value();
      event.isNode = host.isNode;
      event.isBlocking = host.call && isBlocking(host.name);
      if (host.call) m_eventOfCall[*host.call] = index;
      if (!events || thread != host.thread) {
        thread = host.thread;
        events = &m_threads[thread];
      }
      events->push_back(index);
    });
  }

  // A call counts for the piece of work that it is linked to only.
  void addWork() {
    m_eventOfWork.assign(m_rank.work.size(), kNone);
    for (uint32_t i = 0; i < m_rank.work.size(); ++i) {
      const Work& work = m_rank.work[i];
      const bool isStreamWait = work.kind == WorkKind::Wait && waitOf(work).kind == kStreamWaitEvent;
      bool isLaunchedHere = false;
      if (const uint32_t call = m_callOf[i]; call != kNone && m_workOf[call] == i) {
        isLaunchedHere = isInPeriod(m_rank.calls[call].ts) && m_rank.calls[call].dur > 0;
      }
      if (!isLaunchedHere && !isStreamWait) continue;
      m_eventOfWork[i] = static_cast<uint32_t>(m_graph.events.size());
      GraphEvent& event = m_graph.events.emplace_back();
      event.ts = work.ts;
      event.end = work.end();
      event.what = i;
      event.isOnGpu = true;
      event.isNode = true;
    }
  }

  [[nodiscard]] const Wait& waitOf(const Work& work) const { return m_rank.waits[work.wait]; }
  [[nodiscard]] const GraphEvent* eventOfCall(uint32_t call) const {
    const uint32_t event = call == kNone ? kNone : m_eventOfCall[call];
    return event == kNone ? nullptr : &m_graph.events[event];
  }
  [[nodiscard]] const GraphEvent* eventOfWork(uint32_t work) const {
    const uint32_t event = work == kNone ? kNone : m_eventOfWork[work];
    return event == kNone ? nullptr : &m_graph.events[event];
  }

  // The time of an edge between two nested events is the inner one's, between two neighbours their parent's.
  void attribute(GraphEdge& edge, uint32_t parentOfFrom) const {
    const GraphNode& from = m_graph.nodes[edge.from];
    const GraphNode& to = m_graph.nodes[edge.to];
    edge.attributed = from.isStart ? from.event : !to.isStart ? to.event : parentOfFrom;
  }

  void addThreads() {
    for (const auto& [id, events] : m_threads) addThread(events);
  }

  // Of the threads' events: of those that start together the longer one is around the other. And of the streams.
  void findOrders() {
    for (auto& [id, events] : m_threads) {
      sortRuns(events, [this](uint32_t a, uint32_t b) {
        const GraphEvent &one = m_graph.events[a], &other = m_graph.events[b];
        return one.ts != other.ts ? one.ts < other.ts : one.end > other.end;
      });
    }
    m_items = itemsOfStreams();
    sortAsNumpy(m_items, [](const Item& item) { return item.sortBy; });
  }

  // Start and end of each event in turn, as they nest; operators one after another depend on each other. At an end it
  // is the innermost one that is left, whichever ends, where events of a thread overlap.
  void addThread(const std::vector<uint32_t>& events) {
    ThreadState state;
    std::vector<uint32_t> stack;
    std::vector<int64_t> ends;  // of the events on it, the earliest on top of the heap
    const auto leaveUntil = [&](int64_t ts) {
      for (; !ends.empty() && ends.front() <= ts; ends.pop_back()) {
        std::pop_heap(ends.begin(), ends.end(), std::greater<>());
        const uint32_t event = stack.back();
        stack.pop_back();
        leave(event, stack.empty() ? kNone : stack.back(), state);
      }
    };
    for (const uint32_t event : events) {
      leaveUntil(m_graph.events[event].ts);
      enter(event, stack.empty() ? kNone : stack.back(), state);
      stack.push_back(event);
      ends.push_back(m_graph.events[event].end);
      std::push_heap(ends.begin(), ends.end(), std::greater<>());
    }
    leaveUntil(std::numeric_limits<int64_t>::max());
  }

  struct ThreadState {
    uint32_t last = kNone, lastTop = kNone;  // nodes
    uint32_t parentOfLast = kNone;
    int depth = 0;
  };

  void enter(uint32_t index, uint32_t parent, ThreadState& state) {
    const GraphEvent& event = m_graph.events[index];
    if (!event.isNode) return;
    if (state.depth++ == 0 && state.lastTop != kNone) {
      m_graph.connect(state.lastTop, event.startNode, EdgeType::Dependency);
    }
    if (state.last != kNone)
      attribute(m_graph.connect(state.last, event.startNode, EdgeType::Operator), state.parentOfLast);
    state.last = event.startNode;
    state.parentOfLast = parent;
  }

  void leave(uint32_t index, uint32_t parent, ThreadState& state) {
    const GraphEvent& event = m_graph.events[index];
    if (!event.isNode) return;
    --state.depth;
    if (state.last != kNone) {
      attribute(m_graph.connect(state.last, event.endNode, EdgeType::Operator, event.isBlocking), state.parentOfLast);
    }
    if (state.depth == 0) {
      state.last = kNone;
      state.lastTop = event.endNode;
    } else {
      state.last = event.endNode;
      state.parentOfLast = parent;
    }
  }

  // Launch calls of one stream in order of time.
  using Launches = std::vector<uint32_t>;
  void sortByTime(Launches& launches) const {
    sortRuns(launches, [this](uint32_t a, uint32_t b) { return m_rank.calls[a].ts < m_rank.calls[b].ts; });
  }
  // The first after the moment.
  [[nodiscard]] Launches::const_iterator firstAfter(const Launches& launches, int64_t ts) const {
    return std::partition_point(launches.begin(), launches.end(),
                                [&](uint32_t call) { return m_rank.calls[call].ts <= ts; });
  }
  template <class Take>
  void forEachLaunch(Take take) const {
    for (uint32_t i = 0; i < m_rank.calls.size(); ++i) {
      if (m_rank.calls[i].isQueued && m_workOf[i] != kNone) take(i, m_rank.work[m_workOf[i]].stream);
    }
  }

  // By correlation id of the call that recorded an event: the launch before it on the event's stream.
  void findRecordedLaunches() {
    std::unordered_map<int64_t, int64_t> streams;
    for (const std::vector<Work>* list : {&m_rank.work, &m_rank.deviceWaits}) {
      for (const Work& work : *list) {
        if (work.kind != WorkKind::Wait) continue;
        const Wait& wait = waitOf(work);
        if (wait.recordedCall && wait.recordedStream) streams.emplace(*wait.recordedCall, *wait.recordedStream);
      }
    }
    if (streams.empty()) return;
    std::unordered_map<int64_t, Launches> launches;
    forEachLaunch([&](uint32_t call, int64_t stream) { launches[stream].push_back(call); });
    for (auto& [stream, list] : launches) sortByTime(list);
    CallTest isRecord(m_trace, [](std::string_view name) { return name == "cudaEventRecord"; });
    for (const Call& call : m_rank.calls) {
      const auto stream = streams.find(call.correlation);
      if (stream == streams.end() || !isRecord(call.nameId)) continue;
      const Launches& list = launches[stream->second];
      const auto after = firstAfter(list, call.ts);
      if (after != list.begin()) m_recorded[call.correlation] = *std::prev(after);
    }
  }

  // By call that makes a stream wait: the next launch of its thread on that stream.
  void findLaunchesAfterWaits() {
    Launches waits;
    CallTest isWait(m_trace, [](std::string_view name) { return name == "cudaStreamWaitEvent"; });
    for (uint32_t i = 0; i < m_rank.calls.size(); ++i) {
      if (m_workOf[i] != kNone && isWait(m_rank.calls[i].nameId)) waits.push_back(i);
    }
    if (waits.empty()) return;
    std::map<std::pair<ThreadId, int64_t>, Launches> launches;
    forEachLaunch([&](uint32_t call, int64_t stream) {
      launches[{m_rank.calls[call].thread, stream}].push_back(call);
    });
    for (auto& [place, list] : launches) sortByTime(list);
    for (const uint32_t wait : waits) {
      const Call& call = m_rank.calls[wait];
      const Launches& list = launches[{call.thread, m_rank.work[m_workOf[wait]].stream}];
      const auto after = firstAfter(list, call.ts);
      if (after != list.end()) m_afterWait[wait] = *after;
    }
  }

  // In order of start, waits in order of end.
  [[nodiscard]] std::vector<Item> itemsOfStreams() const {
    std::vector<Item> items;
    items.reserve(m_rank.work.size());
    for (uint32_t i = 0; i < m_rank.work.size(); ++i) {
      if (m_eventOfWork[i] == kNone) continue;
      const Work& work = m_rank.work[i];
      items.push_back({work.kind == WorkKind::Wait ? work.end() : work.ts, i, kNone});
    }
    for (uint32_t i = 0; i < m_rank.deviceWaits.size(); ++i) {
      const Work& wait = m_rank.deviceWaits[i];
      const int64_t kind = waitOf(wait).kind;
      const bool counts = kind == kEventSync || kind == kContextSync;
      if (counts && wait.dur > 0 && isInPeriod(wait.ts)) items.push_back({wait.end(), kNone, i});
    }
    return items;
  }

  void findQueueLengths() {
    m_queueAtCall.assign(m_rank.calls.size(), -1);
    m_queueAtWork.assign(m_rank.work.size(), -1);
    for (const QueuePoint& point : queueSeries(m_rank)) {
      (point.by > 0 ? m_queueAtCall : m_queueAtWork)[point.event] = point.length;
    }
  }

  void addStreams() {
    for (const Item& item : m_items) {
      if (item.work != kNone && m_rank.work[item.work].kind != WorkKind::Wait) {
        addKernel(item.work);
      } else {
        addWait(item);
      }
    }
  }

  void synchronize(uint32_t gpuNode, uint32_t call) {
    const GraphEvent* waiting = eventOfCall(call);
    if (waiting) m_graph.synchronize(gpuNode, waiting->endNode);
  }

  void addWait(const Item& item) {
    const Work& work = item.work == kNone ? m_rank.deviceWaits[item.wait] : m_rank.work[item.work];
    const Wait& wait = waitOf(work);
    const int64_t kind = wait.kind;
    const uint32_t call = item.work == kNone ? m_callOfWait[item.wait] : m_callOf[item.work];
    if (kind == kEventSync || kind == kStreamWaitEvent) {
      const auto recorded = wait.recordedCall ? m_recorded.find(*wait.recordedCall) : m_recorded.end();
      if (recorded == m_recorded.end()) return;
      const uint32_t source = m_workOf[recorded->second];
      if (kind == kEventSync) {
        if (const GraphEvent* before = eventOfWork(source)) synchronize(before->endNode, call);
      } else if (const auto next = m_afterWait.find(call); next != m_afterWait.end()) {
        m_waitsFor[m_workOf[next->second]] = source;
      }
      return;
    }
    if (kind == kContextSync) {
      for (const int64_t stream : m_streamOrder) synchronize(m_last.at(stream), call);
    } else if (const auto last = m_last.find(work.stream); kind == kStreamSync && last != m_last.end()) {
      synchronize(last->second, call);
    }
  }

  void addKernel(uint32_t index) {
    const Work& work = m_rank.work[index];
    const GraphEvent& event = m_graph.events[m_eventOfWork[index]];
    attribute(m_graph.connect(event.startNode, event.endNode, EdgeType::Operator), kNone);
    const GraphEvent* source = nullptr;
    if (const auto waits = m_waitsFor.find(index); waits != m_waitsFor.end()) {
      source = eventOfWork(waits->second);
      if (source) m_graph.connect(source->endNode, event.startNode, EdgeType::Synchronization);
      m_waitsFor.erase(waits);
    }
    const auto last = m_last.find(work.stream);
    const auto before = [&](int64_t ts) { return last == m_last.end() || m_graph.nodes[last->second].ts < ts; };
    const uint32_t call = m_callOf[index];
    const int64_t launch = call == kNone ? 0 : m_rank.calls[call].ts;
    const bool isDelayed = call != kNone && m_queueAtCall[call] == 1 && m_queueAtWork[index] == 0 && before(launch) &&
                           (!source || source->end < launch);
    if (isDelayed) {
      if (const GraphEvent* launching = eventOfCall(call)) {
        m_graph.connect(launching->startNode, event.startNode, EdgeType::LaunchDelay);
      }
    } else if (last != m_last.end() && (!source || source->end < m_graph.nodes[last->second].ts)) {
      GraphEdge& edge = m_graph.connect(last->second, event.startNode, EdgeType::KernelDelay);
      edge.attributed = m_graph.nodes[edge.from].event;
    }
    if (last == m_last.end()) m_streamOrder.push_back(work.stream);
    m_last[work.stream] = event.endNode;
  }

  Trace& m_trace;
  const Rank& m_rank;
  const HostEvents& m_host;
  Period m_period;
  CriticalGraph m_graph;
  std::vector<uint32_t> m_callOf, m_workOf, m_callOfWait;  // calls and work that are linked
  std::vector<uint32_t> m_eventOfCall, m_eventOfWork;      // of the graph
  std::map<ThreadId, std::vector<uint32_t>> m_threads;     // events of the graph
  std::vector<Item> m_items;                               // of the streams
  std::unordered_map<int64_t, uint32_t> m_recorded;        // correlation id of the recording call: launch call
  std::unordered_map<uint32_t, uint32_t> m_afterWait;      // call that makes a stream wait: launch call
  std::unordered_map<uint32_t, uint32_t> m_waitsFor;       // work: the work of another stream that it waits for
  std::vector<int64_t> m_queueAtCall, m_queueAtWork;       // length of the stream's queue; -1: not told
  std::unordered_map<int64_t, uint32_t> m_last;            // by stream: the end of its last work so far
  std::vector<int64_t> m_streamOrder;
};

}  // namespace

Result<CriticalGraph> buildGraph(Trace& trace, const Rank& rank, const HostEvents& host, Period period) {
  return Builder(trace, rank, host, period).build();
}

}  // namespace plumb::hta
