// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_activity.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/data_loading.h"
#include "analyzer/analyses/event_rows.h"
#include "analyzer/analyses/pageable_copies.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/intervals/gallop.h"
#include "analyzer/intervals/sort_runs.h"
#include "analyzer/trace/row_scan.h"

namespace plumb {
namespace {

enum class Level : uint8_t { Call, Range, Python };
constexpr size_t kLevelCount = 3;

struct Activity {
  Interval time;
  StringId name;
  Level level;
  bool blocks = false, loads = false;
};

// The moments of interest of a thread, and its activities that meet them.
class ThreadActivities {
 public:
  explicit ThreadActivities(const IntervalSet& interest) : m_interest(&interest) {}
  [[nodiscard]] const IntervalSet& interest() const { return *m_interest; }
  [[nodiscard]] bool meets(Interval time) {
    const auto& parts = m_interest->parts();
    m_hint = partitionPointNear(parts, m_hint, [&](const Interval& part) { return part.end <= time.start; });
    return m_hint < parts.size() && parts[m_hint].start < time.end;
  }
  std::vector<Activity> list;

 private:
  const IntervalSet* m_interest;
  size_t m_hint = 0;
};

// Rows of one thread mostly stand together.
class Activities {
 public:
  explicit Activities(const HostActivity::Moments& interest) {
    for (const auto& [thread, moments] : interest) m_threads.emplace(thread, ThreadActivities(moments));
  }
  [[nodiscard]] ThreadActivities* find(ThreadId thread) {  // null: of no interest
    if (m_last == m_threads.end() || m_last->first != thread) m_last = m_threads.find(thread);
    return m_last == m_threads.end() ? nullptr : &m_last->second;
  }
  [[nodiscard]] std::map<ThreadId, ThreadActivities>& threads() { return m_threads; }

 private:
  std::map<ThreadId, ThreadActivities> m_threads;
  std::map<ThreadId, ThreadActivities>::iterator m_last = m_threads.end();
};

// Names are looked at once.
class NameTest {
 public:
  NameTest(Trace& trace, bool (*test)(std::string_view)) : m_trace(trace), m_test(test) {}
  bool operator()(StringId name) {
    const auto known = m_known.find(name);
    if (known != m_known.end()) return known->second;
    return m_known.emplace(name, m_test(m_trace.text(name))).first->second;
  }

 private:
  Trace& m_trace;
  bool (*m_test)(std::string_view);
  std::unordered_map<StringId, bool> m_known;
};

Status readCalls(Trace& trace, Activities& activities) {
  auto copies = PageableCopies::load(trace);
  if (!copies.ok()) return copies.error();
  NameTest blocks(trace, isBlockingCall);
  return forEachCall(trace, [&](const CallRow& call) {
    ThreadActivities* thread = activities.find(call.thread);
    if (!thread || !call.isTimed || !thread->meets(call.time)) return;
    const bool isBlocking = blocks(call.name) || copies.value().waited(call.process, call.correlation, call.time.end);
    thread->list.push_back({call.time, call.name, Level::Call, isBlocking, false});
  });
}

// From columns thread_id, start_ns, duration_ns, name_id.
Status readRanges(Trace& trace, const char* table, Level level, Activities& activities) {
  NameTest loads(trace, isDataLoadingName);
  return scanRows(trace.database(), "thread_id, start_ns, duration_ns, name_id", table, [&](const RowValues& row) {
    ThreadActivities* thread = activities.find(row.id<ThreadId>(0));
    if (!thread) return;
    const int64_t start = row.integer(1);
    const bool isOpen = row.isNull(2);
    if (!isUsableTime(start, isOpen ? 0 : row.integer(2))) return;
    const Interval time{TimePoint(start), isOpen ? kAllTime.end : TimePoint(start + row.integer(2))};
    if (!thread->meets(time)) return;
    const auto name = row.id<StringId>(3);
    thread->list.push_back({time, name, level, false, loads(name)});
  });
}

// Sweeps over one thread's activities, which nest; where a damaged trace's do not, the one that began last counts.
class Sweep {
 public:
  explicit Sweep(const IntervalSet& interest) : m_interest(interest.parts()) {}
  std::vector<HostMoment> run(std::vector<Activity> activities) {
    sortRuns(activities, [](const Activity& a, const Activity& b) {
      return std::make_pair(a.time.start, b.time.end) < std::make_pair(b.time.start, a.time.end);
    });
    for (const Activity& activity : activities) {
      advance(activity.time.start);
      m_open[static_cast<size_t>(activity.level)].push_back(activity);
      m_blocking += activity.blocks;
      m_loading += activity.loads;
    }
    advance(kAllTime.end);
    return std::move(m_moments);
  }

 private:
  void advance(TimePoint to) {
    for (;;) {
      TimePoint next = to;
      for (const auto& stack : m_open) {
        if (!stack.empty()) next = std::min(next, stack.back().time.end);
      }
      emit(next);
      bool popped = false;
      for (auto& stack : m_open) {
        while (!stack.empty() && stack.back().time.end <= next) {
          m_blocking -= stack.back().blocks;
          m_loading -= stack.back().loads;
          stack.pop_back();
          popped = true;
        }
      }
      if (!popped) return;
    }
  }
  void emit(TimePoint to) {
    const auto& [calls, ranges, python] = m_open;
    while (m_part < m_interest.size() && m_interest[m_part].end <= m_at) ++m_part;
    const bool isOfInterest = m_part < m_interest.size() && m_interest[m_part].start < to;
    if (isOfInterest && m_at < to && !(calls.empty() && ranges.empty() && python.empty())) {
      HostMoment moment;
      moment.time = {m_at, to};
      if (!calls.empty()) moment.call = calls.front().name;
      moment.range = !ranges.empty() ? ranges.back().name : !python.empty() ? python.back().name : StringId();
      moment.isBlocked = m_blocking > 0;
      moment.isLoading = m_loading > 0;
      append(moment);
    }
    m_at = std::max(m_at, to);
  }
  void append(const HostMoment& moment) {
    if (!m_moments.empty()) {
      HostMoment& last = m_moments.back();
      const auto what = [](const HostMoment& m) { return std::tie(m.call, m.range, m.isBlocked, m.isLoading); };
      if (last.time.end == moment.time.start && what(last) == what(moment)) {
        last.time.end = moment.time.end;
        return;
      }
    }
    m_moments.push_back(moment);
  }

  const std::vector<Interval>& m_interest;
  size_t m_part = 0;  // of the interest: the first that ends after m_at

  std::array<std::vector<Activity>, kLevelCount> m_open;
  std::vector<HostMoment> m_moments;
  TimePoint m_at = kAllTime.start;
  int m_blocking = 0, m_loading = 0;
};

}  // namespace

bool isBlockingCall(std::string_view apiName) {
  const auto has = [&](std::string_view part) { return apiName.find(part) != std::string_view::npos; };
  return has("Synchronize") || (has("Memcpy") && !has("Async") && !has("MemcpyNode"));
}

Result<HostActivity> HostActivity::load(Trace& trace, const Moments& interest) {
  HostActivity result;
  if (interest.empty()) return result;
  Activities activities(interest);
  if (const Status read = readCalls(trace, activities); !read.ok()) return read.error();
  struct Source {
    const char* table;
    Level level;
  };
  // What importers call overhead is the profiler's own.
  static constexpr Source kSources[] = {
      {"main.range WHERE kind = 'push_pop'"
       " AND domain_id NOT IN (SELECT id FROM main.string WHERE text IN ('overhead', 'profiler overhead'))",
       Level::Range},
      {"operator", Level::Range},
      {"python_call", Level::Python}};
  for (const Source& source : kSources) {
    if (const Status read = readRanges(trace, source.table, source.level, activities); !read.ok()) return read.error();
  }
  for (auto& [thread, mine] : activities.threads()) {
    if (!mine.list.empty()) result.m_moments[thread] = Sweep(mine.interest()).run(std::move(mine.list));
  }
  return result;
}

void HostActivity::forEach(ThreadId thread, Interval window, const std::function<void(const HostMoment&)>& take) const {
  const auto mine = m_moments.find(thread);
  if (mine == m_moments.end()) return;
  auto moment = std::partition_point(mine->second.begin(), mine->second.end(),
                                     [&](const HostMoment& m) { return m.time.end <= window.start; });
  for (; moment != mine->second.end() && moment->time.start < window.end; ++moment) {
    HostMoment part = *moment;
    part.time = clip(moment->time, window);
    if (!part.time.empty()) take(part);
  }
}

}  // namespace plumb
