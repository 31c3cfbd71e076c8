// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_activity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
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

enum class Level : uint8_t { Call, Range, Python, OsCall };
constexpr size_t kLevelCount = 4;

struct Activity {
  Interval time;
  StringId name;
  Level level;
  bool blocks = false, loads = false;
};

// Whether times meet one of some intervals; times come mostly in order.
class Meeting {
 public:
  [[nodiscard]] bool operator()(const IntervalSet& set, Interval time) {
    const auto& parts = set.parts();
    m_hint = partitionPointNear(parts, std::min(m_hint, parts.size()),
                                [&](const Interval& part) { return part.end <= time.start; });
    return m_hint < parts.size() && parts[m_hint].start < time.end;
  }

 private:
  size_t m_hint = 0;
};

// The moments of interest of a thread, and its activities that meet them. For flags alone, one that blocks and loads
// nothing is kept only where nothing is known yet to have been recorded.
class ThreadActivities {
 public:
  ThreadActivities(const IntervalSet& interest, HostDetail detail)
      : m_interest(&interest), m_unknown(interest), m_detail(detail) {}
  [[nodiscard]] const IntervalSet& interest() const { return *m_interest; }
  // Nothing more is to be learned from activities that only are.
  [[nodiscard]] bool isKnown() const { return m_unknown.parts().empty(); }

  void add(const Activity& activity) {
    if (m_detail != HostDetail::Flags || activity.blocks || activity.loads) {
      if (m_meetsInterest(*m_interest, activity.time)) list.push_back(activity);
      return;
    }
    const bool isInside = m_last.start <= activity.time.start && activity.time.end <= m_last.end;
    if (isInside || !m_meetsUnknown(m_unknown, activity.time)) return;
    list.push_back(activity);
    m_last = activity.time;
    if (list.size() < m_nextLook) return;
    m_nextLook = 2 * list.size();  // so that all looks together stay within n log n
    lookAgain();
  }
  void lookAgain() {
    if (m_looked == list.size()) return;
    std::vector<Interval> times;
    times.reserve(list.size() - m_looked);
    for (; m_looked < list.size(); ++m_looked) times.push_back(list[m_looked].time);
    m_unknown = subtract(m_unknown, IntervalSet::unionOf(std::move(times)));
  }
  std::vector<Activity> list;

 private:
  const IntervalSet* m_interest;
  IntervalSet m_unknown;  // the interest without what the list covers, as of the last look
  HostDetail m_detail;
  Meeting m_meetsInterest, m_meetsUnknown;
  Interval m_last;
  size_t m_looked = 0, m_nextLook = 1;
};

// Rows of one thread mostly stand together.
class Activities {
 public:
  Activities(const HostActivity::Moments& interest, HostDetail detail) {
    for (const auto& [thread, moments] : interest) m_threads.emplace(thread, ThreadActivities(moments, detail));
  }
  [[nodiscard]] ThreadActivities* find(ThreadId thread) {  // null: of no interest
    if (m_last == m_threads.end() || m_last->first != thread) m_last = m_threads.find(thread);
    return m_last == m_threads.end() ? nullptr : &m_last->second;
  }
  [[nodiscard]] std::map<ThreadId, ThreadActivities>& threads() { return m_threads; }
  [[nodiscard]] bool areKnown() const {
    return std::ranges::all_of(m_threads, [](const auto& entry) { return entry.second.isKnown(); });
  }
  void lookAgain() {
    for (auto& [id, thread] : m_threads) thread.lookAgain();
  }

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
    if (!thread || !call.isTimed) return;
    const bool isBlocking = blocks(call.name) || copies.value().waited(call.process, call.correlation, call.time.end);
    thread->add({call.time, call.name, Level::Call, isBlocking, false});
  });
}

struct Source {
  const char* table;
  Level level;
  bool hasParents;  // rows without a parent_id hold all others
};
// What importers call overhead is the profiler's own.
constexpr Source kSources[] = {
    {"main.range WHERE kind = 'push_pop'"
     " AND domain_id NOT IN (SELECT id FROM main.string WHERE text IN ('overhead', 'profiler overhead'))",
     Level::Range, false},
    {"operator", Level::Range, true},
    {"python_call", Level::Python, false}};

// Of a row thread_id, start_ns, duration_ns.
std::optional<Interval> timeOf(const RowValues& row) {
  const int64_t start = row.integer(1);
  const bool isOpen = row.isNull(2);
  if (!isUsableTime(start, isOpen ? 0 : row.integer(2))) return {};
  return Interval{TimePoint(start), isOpen ? kAllTime.end : TimePoint(start + row.integer(2))};
}

constexpr Source kOsCalls = {"os_call", Level::OsCall, false};

Status readRanges(Trace& trace, Activities& activities, HostDetail detail) {
  NameTest loads(trace, isDataLoadingName);
  std::vector<Source> sources(std::begin(kSources), std::end(kSources));
  if (detail == HostDetail::All) sources.push_back(kOsCalls);
  for (const Source& source : sources) {
    const Status read = scanRows(trace.database(), "thread_id, start_ns, duration_ns, name_id", source.table,
                                 [&](const RowValues& row) {
                                   ThreadActivities* thread = activities.find(row.id<ThreadId>(0));
                                   const auto time = thread ? timeOf(row) : std::nullopt;
                                   if (!time) return;
                                   const auto name = row.id<StringId>(3);
                                   thread->add({*time, name, source.level, false, loads(name)});
                                 });
    if (!read.ok()) return read;
  }
  return Unit{};
}

class LoadingNames {
 public:
  [[nodiscard]] static Result<LoadingNames> load(Trace& trace) {
    auto found = findDataLoadingNames(trace);
    if (!found.ok()) return found.error();
    LoadingNames names;
    names.m_sorted = std::move(found).value();
    std::sort(names.m_sorted.begin(), names.m_sorted.end());
    return names;
  }
  [[nodiscard]] bool empty() const { return m_sorted.empty(); }
  [[nodiscard]] bool contains(StringId name) const {
    return std::binary_search(m_sorted.begin(), m_sorted.end(), name);
  }

 private:
  std::vector<StringId> m_sorted;
};

// Rows until all is known to be recorded.
Status readRecorded(Trace& trace, const Source& source, Activities& activities) {
  const std::string columns =
      std::string("thread_id, start_ns, duration_ns") + (source.hasParents ? ", parent_id" : "");
  return scanRowsWhile(trace.database(), columns, source.table, [&](const RowValues& row) {
    if (source.hasParents && !row.isNull(3)) return true;
    ThreadActivities* thread = activities.find(row.id<ThreadId>(0));
    if (!thread || thread->isKnown()) return true;
    if (const auto time = timeOf(row)) thread->add({*time, {}, source.level});
    return !thread->isKnown() || !activities.areKnown();
  });
}

// The rows that load data, and of the others enough to know when anything was recorded.
Status readRangeFlags(Trace& trace, Activities& activities) {
  const auto names = LoadingNames::load(trace);
  if (!names.ok()) return names.error();
  for (const Source& source : kSources) {
    activities.lookAgain();
    const bool isBoth = !activities.areKnown() && !names.value().empty() && source.hasParents;  // in one scan
    if (!activities.areKnown() && !isBoth) {
      if (const Status read = readRecorded(trace, source, activities); !read.ok()) return read;
    }
    if (names.value().empty()) continue;
    const std::string columns =
        std::string("thread_id, start_ns, duration_ns, name_id") + (isBoth ? ", parent_id" : "");
    const Status read = scanRows(trace.database(), columns, source.table, [&](const RowValues& row) {
      const bool loads = names.value().contains(row.id<StringId>(3));
      if (!loads && !(isBoth && row.isNull(4))) return;
      ThreadActivities* thread = activities.find(row.id<ThreadId>(0));
      const auto time = thread ? timeOf(row) : std::nullopt;
      if (time) thread->add({*time, {}, source.level, false, loads});
    });
    if (!read.ok()) return read;
  }
  return Unit{};
}

// Sweeps over one thread's activities, which nest; where a damaged trace's do not, the one that began last counts.
class Sweep {
 public:
  explicit Sweep(const IntervalSet& interest) : m_interest(interest.parts()) {}
  std::vector<HostMoment> run(std::vector<Activity> activities) {
    // Of two with the same time the first row is the outer one.
    sortRuns(activities, [](const Activity& a, const Activity& b) {
      return std::make_pair(a.time.start, b.time.end) < std::make_pair(b.time.start, a.time.end);
    });
    for (const Activity& activity : activities) {
      advance(activity.time.start);
      m_open[static_cast<size_t>(activity.level)].push_back(activity);
      if (activity.blocks) m_blockedUntil = std::max(m_blockedUntil, activity.time.end);
      if (activity.loads) m_loadingUntil = std::max(m_loadingUntil, activity.time.end);
    }
    advance(kAllTime.end);
    return std::move(m_moments);
  }

 private:
  void advance(TimePoint to) {
    for (TimePoint next = kAllTime.start; next != to;) {
      next = to;
      for (const auto& stack : m_open) {
        if (!stack.empty()) next = std::min(next, stack.back().time.end);
      }
      for (const TimePoint until : {m_blockedUntil, m_loadingUntil}) {
        if (until > m_at) next = std::min(next, until);
      }
      emit(next);
      for (auto& stack : m_open) {
        while (!stack.empty() && stack.back().time.end <= next) stack.pop_back();
      }
    }
  }
  void emit(TimePoint to) {
    const auto& [calls, ranges, python, osCalls] = m_open;
    while (m_part < m_interest.size() && m_interest[m_part].end <= m_at) ++m_part;
    const bool isOfInterest = m_part < m_interest.size() && m_interest[m_part].start < to;
    const bool isRecorded = std::ranges::any_of(m_open, [](const auto& stack) { return !stack.empty(); });
    if (isOfInterest && m_at < to && isRecorded) {
      HostMoment moment;
      moment.time = {m_at, to};
      if (!calls.empty()) moment.call = calls.front().name;
      moment.range = innermostOf(ranges, python);
      if (!osCalls.empty()) moment.osCall = osCalls.back().name;
      moment.isBlocked = m_blockedUntil > m_at;
      moment.isLoading = m_loadingUntil > m_at;
      moment.isRecorded = true;
      append(moment);
    }
    m_at = std::max(m_at, to);
  }
  // Of two with the same time the Python call is the outer one.
  static StringId innermostOf(const std::vector<Activity>& ranges, const std::vector<Activity>& python) {
    if (python.empty()) return ranges.empty() ? StringId() : ranges.back().name;
    if (ranges.empty()) return python.back().name;
    const Interval range = ranges.back().time, call = python.back().time;
    const bool isCallInside = std::pair(call.start, range.end) > std::pair(range.start, call.end);
    return isCallInside ? python.back().name : ranges.back().name;
  }
  void append(const HostMoment& moment) {
    if (!m_moments.empty()) {
      HostMoment& last = m_moments.back();
      const auto what = [](const HostMoment& m) {
        return std::tie(m.call, m.range, m.osCall, m.isBlocked, m.isLoading);
      };
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
  TimePoint m_blockedUntil = kAllTime.start, m_loadingUntil = kAllTime.start;
};

}  // namespace

bool isBlockingCall(std::string_view apiName) {
  const auto has = [&](std::string_view part) { return apiName.find(part) != std::string_view::npos; };
  return has("Synchronize") || (has("Memcpy") && !has("Async") && !has("MemcpyNode"));
}

Result<HostActivity> HostActivity::load(Trace& trace, const Moments& interest, HostDetail detail) {
  HostActivity result;
  if (interest.empty()) return result;
  Activities activities(interest, detail);
  const Status ranges =
      detail == HostDetail::Flags ? readRangeFlags(trace, activities) : readRanges(trace, activities, detail);
  if (!ranges.ok()) return ranges.error();
  if (const Status read = readCalls(trace, activities); !read.ok()) return read.error();
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
