// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_host_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/trace/row_scan.h"

namespace plumb::hta {
namespace {

struct Table {
  const char* name;
  const char* columns;  // thread, start, duration, name, whether it is a node
  const char* rows;     // table r, and which of its rows count
};
constexpr Table kTables[] = {
    {"main.range", "r.thread_id, r.start_ns, r.duration_ns, r.name_id, d.text = 'cpu_op'",
     "main.range r NOT INDEXED CROSS JOIN main.string d ON d.id = r.domain_id WHERE r.kind = 'push_pop' AND "
     "r.duration_ns IS NOT"
     " NULL"},
    {"python_call", "r.thread_id, r.start_ns, r.duration_ns, r.name_id, 0", "python_call r NOT INDEXED WHERE 1"},
    // Those that name a stream are GPU work.
    {"operator", "r.thread_id, r.start_ns, r.duration_ns, r.name_id, 1",
     "operator r NOT INDEXED WHERE (r.argument_set_id IS NULL OR r.argument_set_id NOT IN (SELECT id FROM ({})))"}};

bool isDropped(const Rank& rank, int64_t ts) { return rank.end && ts >= *rank.end; }

}  // namespace

Result<HostEvents> HostEvents::open(Trace& trace, const Run& run) {
  HostEvents events(trace);
  events.m_isLimited = run.ranks.size() > 1;
  for (size_t table = 0; table < kTableCount; ++table) {
    if (Status found = events.findRows(table); !found.ok()) return found.error();
  }
  return events;
}

Status HostEvents::findRows(size_t table) {
  auto rows = m_trace->query(fmt::format("SELECT count(*) FROM {}", kTables[table].name));
  if (!rows.ok()) return rows.error();
  if (rows.value().next()) m_counts[table] = rows.value().integer(0);
  if (Status status = rows.value().status(); !status.ok() || !m_isLimited) return status;
  ProcessId process;
  Rows* mine = nullptr;
  return scanRows(m_trace->database(), "r.process_id, r.id", fmt::format("{} r", kTables[table].name),
                  [&](const RowValues& row) {
                    if (!mine || process != row.id<ProcessId>(0)) {
                      process = row.id<ProcessId>(0);
                      mine = &m_rows.try_emplace(process).first->second[table];
                    }
                    // In any order: SQLite may read an index that has both columns.
                    const int64_t id = row.integer(1);
                    mine->first = std::min(mine->first, id);
                    mine->last = std::max(mine->last, id);
                  });
}

size_t HostEvents::count(const Rank& rank) const {
  uint64_t count = rank.calls.size();
  const auto mine = m_rows.find(rank.process);
  for (size_t table = 0; table < kTableCount; ++table) {
    const auto all = static_cast<uint64_t>(m_counts[table]);
    if (!m_isLimited) count += all;
    if (mine == m_rows.end()) continue;
    const auto [first, last] = mine->second[table];
    if (!mine->second[table].isEmpty())
      count += std::min(static_cast<uint64_t>(last) - static_cast<uint64_t>(first) + 1, all);
  }
  return count;
}

Status HostEvents::forEach(const Rank& rank, const std::function<void(const HostEvent&)>& take) const {
  for (size_t table = 0; table < kTableCount; ++table) {
    std::string rows = fmt::format(fmt::runtime(kTables[table].rows), kArgumentsWithStream);
    rows += fmt::format(" AND r.process_id = {}", rank.process.value());
    if (m_isLimited) {
      const auto mine = m_rows.find(rank.process);
      if (mine == m_rows.end() || mine->second[table].isEmpty()) continue;
      rows += fmt::format(" AND r.id BETWEEN {} AND {}", mine->second[table].first, mine->second[table].last);
    }
    const Status read = scanRows(m_trace->database(), kTables[table].columns, rows, [&](const RowValues& row) {
      if (!isUsableTime(row.integer(1), row.integer(2))) return;
      const Microseconds time = rounded(*m_trace, row.integer(1), row.integer(2));
      if (isDropped(rank, time.ts)) return;
      take({time.ts, time.dur, row.id<ThreadId>(0), row.id<StringId>(3), row.integer(4) != 0, std::nullopt});
    });
    if (!read.ok()) return read;
  }
  for (size_t i = 0; i < rank.calls.size(); ++i) {
    const Call& call = rank.calls[i];
    take({call.ts, call.dur, call.thread, call.nameId, true, i});
  }
  return Unit{};
}

Result<std::optional<Period>> annotatedPeriod(Trace& trace, const Rank& rank, const Annotation& annotation) {
  // Whatever bears the name counts.
  auto rows = trace.query(
      "WITH named AS (SELECT id FROM main.string WHERE instr(text, ?2) > 0), found AS ("
      " SELECT 0 AS part, id, start_ns, duration_ns FROM main.range WHERE process_id = ?1 AND name_id IN named"
      " UNION ALL SELECT 1, id, start_ns, duration_ns FROM operator WHERE process_id = ?1 AND name_id IN named"
      " UNION ALL SELECT 2, id, start_ns, duration_ns FROM python_call WHERE process_id = ?1 AND name_id IN named"
      " UNION ALL SELECT 3, id, start_ns, duration_ns FROM main.api_call WHERE process_id = ?1 AND name_id IN"
      " named) SELECT start_ns, duration_ns FROM found WHERE duration_ns IS NOT NULL ORDER BY part, id");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  row.bind(1, rank.process.value());
  row.bind(2, annotation.name);
  for (int64_t instance = 0; row.next();) {
    if (!isUsableTime(row.integer(0), row.integer(1))) continue;
    const Microseconds time = rounded(trace, row.integer(0), row.integer(1));
    if (isDropped(rank, time.ts)) continue;
    if (instance++ == annotation.instance) return std::optional(Period{time.ts, time.ts + time.dur});
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return std::optional<Period>();
}

Result<std::optional<Period>> stepPeriod(Trace& trace, const Rank& rank, int64_t step) {
  auto rows = trace.query(
      "SELECT start_ns, duration_ns FROM steps WHERE process_id = ?1 AND step = ?2 AND duration_ns IS NOT NULL");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  row.bind(1, rank.process.value());
  row.bind(2, step);
  std::optional<Period> period;
  if (row.next()) {
    const Microseconds time = rounded(trace, row.integer(0), row.integer(1));
    if (!isDropped(rank, time.ts)) period = Period{time.ts, time.ts + time.dur};
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return period;
}

}  // namespace plumb::hta
