// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/analyses/hta/hta_critical_graph.h"
#include "analyzer/analyses/hta/hta_launches.h"
#include "analyzer/analyses/hta/hta_statistics.h"

namespace plumb::hta {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);
enum : int64_t { kEventSync = 1, kStreamWaitEvent = 2, kStreamSync = 3, kContextSync = 4 };

bool isBlockingCall(std::string_view name) {
  static const std::set<std::string_view> kNames = {
      "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventQuery", "cudaEventSynchronize", "cudaMemcpy",
      "cudaMemcpyAsync"};
  return kNames.count(name) > 0;
}

class Builder {
 public:
  Builder(Trace& trace, const Run& run, const Rank& rank, const std::vector<HostEvent>& host, Period period)
      : m_trace(trace), m_run(run), m_rank(rank), m_host(host), m_period(period) {}

  CriticalGraph build() && {
    link();
    addHostEvents();
    addWork();
    m_graph.numberNodes();
    addThreads();
    findRecordedLaunches();
    findLaunchesAfterWaits();
    addStreams();
    return std::move(m_graph);
  }

 private:
  // A piece of GPU work as the loop over the streams sees it.
  struct Item {
    const Work* work;
    size_t index;  // into Rank::work, kNone for a wait that bears no stream
    int64_t sortBy;
  };

  [[nodiscard]] std::string_view nameOfCall(size_t call) const { return m_trace.text(m_rank.calls[call].nameId); }
  [[nodiscard]] bool isInPeriod(int64_t ts) const { return ts >= m_period.start && ts <= m_period.end; }

  // The last call of a correlation id is its work's; the last piece of work is its call's.
  void link() {
    std::unordered_map<int64_t, size_t> calls, work;
    for (size_t i = 0; i < m_rank.calls.size(); ++i) calls[m_rank.calls[i].correlation] = i;
    for (size_t i = 0; i < m_rank.work.size(); ++i) work[m_rank.work[i].correlation] = i;
    m_callOf.assign(m_rank.work.size(), kNone);
    for (size_t i = 0; i < m_rank.work.size(); ++i) {
      if (const auto call = calls.find(m_rank.work[i].correlation); call != calls.end()) m_callOf[i] = call->second;
    }
    m_workOf.assign(m_rank.calls.size(), kNone);
    for (size_t i = 0; i < m_rank.calls.size(); ++i) {
      if (const auto mine = work.find(m_rank.calls[i].correlation); mine != work.end()) m_workOf[i] = mine->second;
    }
    for (const Work& wait : m_rank.deviceWaits) {
      const auto call = calls.find(wait.correlation);
      m_callOfWait.push_back(call == calls.end() ? kNone : call->second);
    }
  }

  void addHostEvents() {
    m_eventOfCall.assign(m_rank.calls.size(), kNone);
    for (const HostEvent& host : m_host) {
      if (host.dur <= 0 || !isInPeriod(host.ts)) continue;
      GraphEvent event;
      event.ts = host.ts;
      event.end = host.ts + host.dur;
      event.hostName = host.name;
      event.isNode = host.isNode;
      event.isBlocking = host.call && isBlockingCall(m_trace.text(host.name));
      if (host.call) m_eventOfCall[*host.call] = m_graph.events.size();
      m_threads[host.thread].push_back(m_graph.events.size());
      m_graph.events.push_back(event);
    }
  }

  // A call counts for the piece of work that it is linked to only.
  void addWork() {
    m_eventOfWork.assign(m_rank.work.size(), kNone);
    for (size_t i = 0; i < m_rank.work.size(); ++i) {
      const Work& work = m_rank.work[i];
      const bool isStreamWait = work.kind == WorkKind::Wait && work.wait == kStreamWaitEvent;
      bool isLaunchedHere = false;
      if (const size_t call = m_callOf[i]; call != kNone && m_workOf[call] == i) {
        isLaunchedHere = isInPeriod(m_rank.calls[call].ts) && m_rank.calls[call].dur > 0;
      }
      if (!isLaunchedHere && !isStreamWait) continue;
      GraphEvent event;
      event.ts = work.ts;
      event.end = work.end();
      event.stream = work.stream;
      event.work = i;
      event.isNode = true;
      m_eventOfWork[i] = m_graph.events.size();
      m_graph.events.push_back(event);
    }
  }

  [[nodiscard]] GraphEvent* eventOfCall(size_t call) {
    const size_t event = call == kNone ? kNone : m_eventOfCall[call];
    return event == kNone ? nullptr : &m_graph.events[event];
  }
  [[nodiscard]] GraphEvent* eventOfWork(size_t work) {
    const size_t event = work == kNone ? kNone : m_eventOfWork[work];
    return event == kNone ? nullptr : &m_graph.events[event];
  }

  // The time of an edge between two nested events is the inner one's, between two neighbours their parent's.
  void attribute(GraphEdge& edge, size_t parentOfFrom) const {
    const GraphNode& from = m_graph.nodes[edge.from];
    const GraphNode& to = m_graph.nodes[edge.to];
    const size_t event = from.isStart ? from.event : !to.isStart ? to.event : parentOfFrom;
    if (event != kNone) edge.attributed = event;
  }

  void addThreads() {
    for (const auto& [id, events] : m_threads) addThread(events);
  }

  // Start and end of each event in turn, as they nest; operators one after another depend on each other.
  void addThread(const std::vector<size_t>& events) {
    struct Point {
      int64_t ts;
      bool isStart;
      int64_t order;  // among those of one time: the outer one starts first and ends last
      size_t event;
    };
    std::vector<Point> points;
    for (const size_t event : events) {
      const GraphEvent& one = m_graph.events[event];
      points.push_back({one.ts, true, one.ts - one.end, event});
      points.push_back({one.end, false, one.end - one.ts, event});
    }
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
      const auto key = [](const Point& p) { return std::tie(p.ts, p.isStart, p.order); };
      if (key(a) != key(b)) return key(a) < key(b);
      return a.isStart ? a.event < b.event : a.event > b.event;
    });
    ThreadState state;
    std::vector<size_t> stack;
    for (const Point& point : points) {
      if (point.isStart) {
        enter(point.event, stack.empty() ? kNone : stack.back(), state);
        stack.push_back(point.event);
      } else if (!stack.empty()) {
        // Whichever is innermost, even where events of a thread overlap.
        const size_t event = stack.back();
        stack.pop_back();
        leave(event, stack.empty() ? kNone : stack.back(), state);
      }
    }
  }

  struct ThreadState {
    std::optional<uint32_t> last, lastTop;  // nodes
    size_t parentOfLast = kNone;
    int depth = 0;
  };

  void enter(size_t index, size_t parent, ThreadState& state) {
    const GraphEvent& event = m_graph.events[index];
    if (!event.isNode) return;
    if (state.depth++ == 0 && state.lastTop) {
      m_graph.connect(*state.lastTop, event.startNode, EdgeType::Dependency);
    }
    if (state.last) attribute(m_graph.connect(*state.last, event.startNode, EdgeType::Operator), state.parentOfLast);
    state.last = event.startNode;
    state.parentOfLast = parent;
  }

  void leave(size_t index, size_t parent, ThreadState& state) {
    const GraphEvent& event = m_graph.events[index];
    if (!event.isNode) return;
    --state.depth;
    if (state.last) {
      attribute(m_graph.connect(*state.last, event.endNode, EdgeType::Operator, event.isBlocking), state.parentOfLast);
    }
    if (state.depth == 0) {
      state.last.reset();
      state.lastTop = event.endNode;
    } else {
      state.last = event.endNode;
      state.parentOfLast = parent;
    }
  }

  // Launch calls of one stream, of one thread where asked, in order of time.
  struct Launch {
    int64_t ts;
    size_t call;
  };

  void collectLaunches() {
    for (size_t i = 0; i < m_rank.calls.size(); ++i) {
      const Call& call = m_rank.calls[i];
      if (!call.isQueued || m_workOf[i] == kNone) continue;
      const int64_t stream = m_rank.work[m_workOf[i]].stream;
      m_launches[stream].push_back({call.ts, i});
      m_threadLaunches[{call.thread, stream}].push_back({call.ts, i});
    }
    const auto earlier = [](const Launch& a, const Launch& b) { return a.ts < b.ts; };
    for (auto& [stream, list] : m_launches) std::stable_sort(list.begin(), list.end(), earlier);
    for (auto& [stream, list] : m_threadLaunches) std::stable_sort(list.begin(), list.end(), earlier);
  }

  // By correlation id of the call that recorded an event: the launch before it on the event's stream.
  void findRecordedLaunches() {
    collectLaunches();
    std::unordered_map<int64_t, int64_t> streams;
    for (const std::vector<Work>* waits : {&m_rank.work, &m_rank.deviceWaits}) {
      for (const Work& wait : *waits) {
        if (wait.recordedCall && wait.recordedStream) streams.emplace(*wait.recordedCall, *wait.recordedStream);
      }
    }
    if (streams.empty()) return;
    for (size_t i = 0; i < m_rank.calls.size(); ++i) {
      const Call& call = m_rank.calls[i];
      const auto stream = streams.find(call.correlation);
      if (stream == streams.end() || nameOfCall(i) != "cudaEventRecord") continue;
      const std::vector<Launch>& launches = m_launches[stream->second];
      const auto after = std::upper_bound(launches.begin(), launches.end(), call.ts,
                                          [](int64_t ts, const Launch& launch) { return ts < launch.ts; });
      if (after != launches.begin()) m_recorded[call.correlation] = std::prev(after)->call;
    }
  }

  // By call that makes a stream wait: the next launch of its thread on that stream.
  void findLaunchesAfterWaits() {
    for (size_t i = 0; i < m_rank.calls.size(); ++i) {
      const Call& call = m_rank.calls[i];
      if (m_workOf[i] == kNone || nameOfCall(i) != "cudaStreamWaitEvent") continue;
      const auto launches = m_threadLaunches.find({call.thread, m_rank.work[m_workOf[i]].stream});
      if (launches == m_threadLaunches.end()) continue;
      const auto after = std::upper_bound(launches->second.begin(), launches->second.end(), call.ts,
                                          [](int64_t ts, const Launch& launch) { return ts < launch.ts; });
      if (after != launches->second.end()) m_afterWait[i] = after->call;
    }
  }

  // In order of start, waits in order of end.
  [[nodiscard]] std::vector<Item> itemsOfStreams() const {
    std::vector<Item> items;
    for (size_t i = 0; i < m_rank.work.size(); ++i) {
      if (m_eventOfWork[i] == kNone) continue;
      const Work& work = m_rank.work[i];
      items.push_back({&work, i, work.kind == WorkKind::Wait ? work.end() : work.ts});
    }
    for (const Work& wait : m_rank.deviceWaits) {
      const bool counts = wait.wait == kEventSync || wait.wait == kContextSync;
      if (counts && wait.dur > 0 && isInPeriod(wait.ts)) items.push_back({&wait, kNone, wait.end()});
    }
    std::vector<double> times;
    for (const Item& item : items) times.push_back(static_cast<double>(item.sortBy));
    std::vector<Item> sorted;
    for (const size_t index : sortOrder(times)) sorted.push_back(items[index]);
    return sorted;
  }

  void addStreams() {
    m_queueAtCall.assign(m_rank.calls.size(), -1);
    m_queueAtWork.assign(m_rank.work.size(), -1);
    for (const QueuePoint& point : queueSeries(m_rank)) {
      (point.by > 0 ? m_queueAtCall : m_queueAtWork)[point.event] = point.length;
    }
    for (const Item& item : itemsOfStreams()) {
      if (item.work->kind == WorkKind::Wait) {
        addWait(item);
      } else {
        addKernel(item.index);
      }
    }
  }

  [[nodiscard]] size_t callOf(const Item& item) const {
    if (item.index != kNone) return m_callOf[item.index];
    return m_callOfWait[static_cast<size_t>(item.work - m_rank.deviceWaits.data())];
  }

  void synchronize(uint32_t gpuNode, size_t call) {
    const GraphEvent* waiting = eventOfCall(call);
    if (waiting) m_graph.connect(gpuNode, waiting->endNode, EdgeType::Synchronization);
  }

  void addWait(const Item& item) {
    const int64_t kind = item.work->wait;
    const size_t call = callOf(item);
    if (kind == kEventSync || kind == kStreamWaitEvent) {
      const auto recorded = item.work->recordedCall ? m_recorded.find(*item.work->recordedCall) : m_recorded.end();
      if (recorded == m_recorded.end()) return;
      const size_t source = m_workOf[recorded->second];
      if (kind == kEventSync) {
        if (const GraphEvent* work = eventOfWork(source)) synchronize(work->endNode, call);
      } else if (const auto next = m_afterWait.find(call); next != m_afterWait.end()) {
        m_waitsFor[m_workOf[next->second]] = source;
      }
      return;
    }
    if (kind == kContextSync) {
      for (const int64_t stream : m_streamOrder) synchronize(m_last.at(stream), call);
    } else if (const auto last = m_last.find(item.work->stream); kind == kStreamSync && last != m_last.end()) {
      synchronize(last->second, call);
    }
  }

  void addKernel(size_t index) {
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
    const size_t call = m_callOf[index];
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
  const Run& m_run;
  const Rank& m_rank;
  const std::vector<HostEvent>& m_host;
  Period m_period;
  CriticalGraph m_graph;
  std::vector<size_t> m_callOf, m_workOf, m_callOfWait;  // calls and work that are linked
  std::vector<size_t> m_eventOfCall, m_eventOfWork;      // of the graph
  std::map<ThreadId, std::vector<size_t>> m_threads;     // events of the graph
  std::map<int64_t, std::vector<Launch>> m_launches;     // by stream
  std::map<std::pair<ThreadId, int64_t>, std::vector<Launch>> m_threadLaunches;
  std::unordered_map<int64_t, size_t> m_recorded;     // correlation id of the recording call: launch call
  std::unordered_map<size_t, size_t> m_afterWait;     // call that makes a stream wait: launch call
  std::unordered_map<size_t, size_t> m_waitsFor;      // work: the work of another stream that it waits for
  std::vector<int64_t> m_queueAtCall, m_queueAtWork;  // length of the stream's queue; -1: not told
  std::unordered_map<int64_t, uint32_t> m_last;       // by stream: the end of its last work so far
  std::vector<int64_t> m_streamOrder;
};

}  // namespace

CriticalGraph buildGraph(Trace& trace, const Run& run, const Rank& rank, const std::vector<HostEvent>& host,
                         Period period) {
  return Builder(trace, run, rank, host, period).build();
}

}  // namespace plumb::hta
