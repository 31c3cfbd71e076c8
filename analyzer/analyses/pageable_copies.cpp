// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/pageable_copies.h"

namespace plumb {

Result<PageableCopies> PageableCopies::load(Trace& trace) {
  constexpr int64_t kPageable = 1;
  PageableCopies copies;
  auto rows = trace.query(
      "SELECT process_id, correlation, start_ns, duration_ns, source_kind, target_kind FROM main.memory_copy");
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  while (row.next()) {
    if (row.integer(4) != kPageable && row.integer(5) != kPageable) continue;
    if (!isUsableTime(row.integer(2), row.integer(3))) continue;
    copies.m_ends[row.id<ProcessId>(0)][row.id<Correlation>(1)] = intervalOf(row.integer(2), row.integer(3)).end;
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  return copies;
}

bool PageableCopies::contains(ProcessId process, Correlation correlation) const {
  const auto ends = m_ends.find(process);
  return ends != m_ends.end() && ends->second.contains(correlation);
}

bool PageableCopies::waited(ProcessId process, Correlation correlation, TimePoint callEnd) const {
  const auto ends = m_ends.find(process);
  if (ends == m_ends.end()) return false;
  const auto end = ends->second.find(correlation);
  return end != ends->second.end() && end->second <= callEnd;
}

}  // namespace plumb
