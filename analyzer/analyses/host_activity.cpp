// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/host_activity.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "analyzer/analyses/data_loading.h"
#include "analyzer/analyses/pageable_copies.h"
#include "analyzer/analyses/windows.h"

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
using Activities = std::map<ThreadId, std::vector<Activity>>;

bool meets(const IntervalSet& set, Interval interval) {
  const auto& parts = set.parts();
  const auto part =
      std::partition_point(parts.begin(), parts.end(), [&](const Interval& p) { return p.end <= interval.start; });
  return part != parts.end() && part->start < interval.end;
}

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

Status readCalls(Trace& trace, const HostActivity::Moments& interest, Activities& activities) {
  auto copies = PageableCopies::load(trace);
  if (!copies.ok()) return copies.error();
  NameTest blocks(trace, isBlockingCall);
  auto rows =
      trace.query("SELECT thread_id, start_ns, duration_ns, name_id, process_id, correlation FROM main.api_call");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    const auto thread = interest.find(row.id<ThreadId>(0));
    if (thread == interest.end() || !isUsableTime(row.integer(1), row.integer(2))) continue;
    const Interval time = intervalOf(row.integer(1), row.integer(2));
    if (!meets(thread->second, time)) continue;
    const auto name = row.id<StringId>(3);
    const bool isBlocking =
        blocks(name) || copies.value().waited(row.id<ProcessId>(4), row.id<Correlation>(5), time.end);
    activities[thread->first].push_back({time, name, Level::Call, isBlocking, false});
  }
  return row.status();
}

Status readRanges(Trace& trace, const HostActivity::Moments& interest, const char* sql, Level level,
                  Activities& activities) {
  NameTest loads(trace, isDataLoadingName);
  auto rows = trace.query(sql);
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    const auto thread = interest.find(row.id<ThreadId>(0));
    if (thread == interest.end()) continue;
    const int64_t start = row.integer(1);
    const bool isOpen = row.isNull(2);
    if (!isUsableTime(start, isOpen ? 0 : row.integer(2))) continue;
    const Interval time{TimePoint(start), isOpen ? kAllTime.end : TimePoint(start + row.integer(2))};
    if (!meets(thread->second, time)) continue;
    const auto name = row.id<StringId>(3);
    activities[thread->first].push_back({time, name, level, false, loads(name)});
  }
  return row.status();
}

// Sweeps over one thread's activities, which nest; where a damaged trace's do not, the one that began last counts.
class Sweep {
 public:
  std::vector<HostMoment> run(std::vector<Activity> activities) {
    std::sort(activities.begin(), activities.end(), [](const Activity& a, const Activity& b) {
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
    if (m_at < to && !(calls.empty() && ranges.empty() && python.empty())) {
      HostMoment moment;
      moment.time = {m_at, to};
      if (!calls.empty()) moment.call = calls.front().name;
      moment.range = !ranges.empty() ? ranges.back().name : !python.empty() ? python.back().name : StringId();
      moment.isBlocked = m_blocking > 0;
      moment.isLoading = m_loading > 0;
      m_moments.push_back(moment);
    }
    m_at = std::max(m_at, to);
  }

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
  Activities activities;
  if (const Status read = readCalls(trace, interest, activities); !read.ok()) return read.error();
  struct Source {
    const char* sql;
    Level level;
  };
  // What importers call overhead is the profiler's own.
  static constexpr Source kSources[] = {
      {"SELECT thread_id, start_ns, duration_ns, name_id FROM main.range WHERE kind = 'push_pop'"
       " AND domain_id NOT IN (SELECT id FROM main.string WHERE text IN ('overhead', 'profiler overhead'))",
       Level::Range},
      {"SELECT thread_id, start_ns, duration_ns, name_id FROM operator", Level::Range},
      {"SELECT thread_id, start_ns, duration_ns, name_id FROM python_call", Level::Python}};
  for (const Source& source : kSources) {
    if (const Status read = readRanges(trace, interest, source.sql, source.level, activities); !read.ok())
      return read.error();
  }
  for (auto& [thread, list] : activities) result.m_moments[thread] = Sweep().run(std::move(list));
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
