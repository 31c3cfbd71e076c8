// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/hta/hta_host_events.h"

#include <fmt/format.h>

#include <unordered_map>

namespace plumb::hta {
namespace {

bool isDropped(const Rank& rank, int64_t ts) { return rank.end && ts >= *rank.end; }

Status readEvents(Trace& trace, const Rank& rank, const std::string& sql, std::vector<HostEvent>& events) {
  auto rows = trace.query(sql);
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  row.bind(1, rank.process.value());
  while (row.next()) {
    if (!isUsableTime(row.integer(1), row.integer(2))) continue;
    const Microseconds time = rounded(trace, row.integer(1), row.integer(2));
    if (isDropped(rank, time.ts)) continue;
    events.push_back({time.ts, time.dur, row.id<ThreadId>(0), row.id<StringId>(3), row.integer(4) != 0, std::nullopt});
  }
  return row.status();
}

}  // namespace

Result<std::vector<HostEvent>> loadHostEvents(Trace& trace, const Rank& rank) {
  std::vector<HostEvent> events;
  for (const char* sql :
       {"SELECT r.thread_id, r.start_ns, r.duration_ns, r.name_id, d.text = 'cpu_op' FROM main.range r"
        " JOIN main.string d ON d.id = r.domain_id WHERE r.process_id = ?1 AND r.kind = 'push_pop'"
        " AND r.duration_ns IS NOT NULL ORDER BY r.id",
        "SELECT thread_id, start_ns, duration_ns, name_id, 0 FROM python_call WHERE process_id = ?1 ORDER BY id",
        // Those that name a stream are GPU work.
        "SELECT thread_id, start_ns, duration_ns, name_id, 1 FROM operator WHERE process_id = ?1 AND (argument_set_id"
        " IS NULL OR argument_set_id NOT IN (SELECT id FROM ({}))) ORDER BY id"}) {
    if (Status status = readEvents(trace, rank, fmt::format(fmt::runtime(sql), kArgumentsWithStream), events);
        !status.ok()) {
      return status.error();
    }
  }
  for (size_t i = 0; i < rank.calls.size(); ++i) {
    const Call& call = rank.calls[i];
    events.push_back({call.ts, call.dur, call.thread, call.nameId, true, i});
  }
  return events;
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
