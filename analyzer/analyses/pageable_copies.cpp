// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/pageable_copies.h"

#include "analyzer/trace/row_scan.h"

namespace plumb {

Result<PageableCopies> PageableCopies::load(Trace& trace) {
  PageableCopies copies;
  constexpr int64_t kPageable = 1;  // kind of memory
  const Status read = scanRows(
      trace.database(), "process_id, correlation, start_ns, duration_ns, source_kind, target_kind", "main.memory_copy",
      [&](const RowValues& row) {
        const bool isPageable = row.integer(4) == kPageable || row.integer(5) == kPageable;
        if (!isPageable || !isUsableTime(row.integer(2), row.integer(3))) return;
        copies.m_ends[row.id<ProcessId>(0)][row.id<Correlation>(1)] = intervalOf(row.integer(2), row.integer(3)).end;
      });
  if (!read.ok()) return read.error();
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
