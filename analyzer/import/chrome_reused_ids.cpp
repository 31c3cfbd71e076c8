// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_reused_ids.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace plumb::import {
namespace {

constexpr std::array<const char*, 4> kTables = {"api_call", "kernel", "memory_copy", "memory_set"};
constexpr int64_t kIdsOfACounter = int64_t{1} << 32;

struct Change {
  size_t table;
  int64_t id, correlation;
};

// One correlation id, whose events come by time.
class Uses {
 public:
  Uses(int64_t process, int64_t correlation) : m_process(process), m_correlation(correlation) {}

  [[nodiscard]] bool isOf(int64_t process, int64_t correlation) const {
    return m_process == process && m_correlation == correlation;
  }

  void call(int64_t id, int64_t start, int64_t end, std::vector<Change>& changes) {
    const bool isInside = m_hasCall && start < m_callEnd;  // as a driver's call is inside a runtime's
    m_callEnd = isInside ? std::max(m_callEnd, end) : end;
    m_hasCall = true;
    if (!m_waiting.empty() || (m_hasWork && !isInside)) {
      m_waiting.push_back(id);
    } else if (m_use > 0) {
      changes.push_back({0, id, current()});
    }
  }
  // A use is one only with work of its own.
  void work(size_t table, int64_t id, std::vector<Change>& changes, ReusedIds& reused) {
    m_isUnclear |= !m_hasCall;  // it begins before its call: times do not tell whose it is
    m_hasWork = true;
    if (m_isUnclear) return;
    if (!m_waiting.empty()) {
      if (++m_use == 1) reused.ids.emplace_back(m_process, m_correlation);
      reused.ids.emplace_back(m_process, current());
      reused.calls += m_waiting.size();
      for (const int64_t call : m_waiting) changes.push_back({0, call, current()});
      m_waiting.clear();
    }
    if (m_use > 0) changes.push_back({table, id, current()});
  }

 private:
  [[nodiscard]] int64_t current() const { return m_correlation + m_use * kIdsOfACounter; }

  int64_t m_process, m_correlation, m_use = 0, m_callEnd = 0;
  bool m_hasCall = false, m_hasWork = false, m_isUnclear = false;
  std::vector<int64_t> m_waiting;  // calls behind the work of the use so far
};

Status applyAll(schema::Database& database, const std::vector<Change>& changes) {
  for (size_t table = 0; table < kTables.size(); ++table) {
    auto update = database.prepare(fmt::format("UPDATE {} SET correlation = ? WHERE id = ?", kTables[table]));
    if (!update.ok()) return update.error();
    for (const Change& change : changes) {
      if (change.table != table) continue;
      update.value().bind(change.correlation);
      update.value().bind(change.id);
      if (!update.value().run()) return Error{database.lastError()};
    }
  }
  return Unit{};
}

}  // namespace

Result<ReusedIds> separateReusedIds(TraceFile& file, const std::vector<int64_t>& processes, int64_t firstCall) {
  ReusedIds reused;
  schema::Database& database = file.database();
  const Status found = database.execute(fmt::format(
      "DROP TABLE IF EXISTS temp.called_again; CREATE TEMP TABLE called_again AS SELECT process_id, correlation FROM"
      " api_call WHERE id > {} AND process_id IN ({}) AND correlation BETWEEN 1 AND {} GROUP BY process_id, correlation"
      " HAVING count(*) > 1; CREATE UNIQUE INDEX temp.called_again_id ON called_again(process_id, correlation)",
      firstCall, fmt::join(processes, ","), kIdsOfACounter - 1));
  if (!found.ok()) return found.error();
  std::string events;
  for (size_t table = 0; table < kTables.size(); ++table) {
    events += fmt::format(
        "{} SELECT e.process_id, e.correlation, e.start_ns, {}, e.start_ns + e.duration_ns, e.id FROM {} e CROSS JOIN"
        " temp.called_again c ON c.process_id = e.process_id AND c.correlation = e.correlation",
        table == 0 ? "" : " UNION ALL", table, kTables[table]);
  }
  std::vector<Change> changes;
  {
    auto rows = database.prepare(events + " ORDER BY 1, 2, 3, 4, 5 DESC");
    if (!rows.ok()) return rows.error();
    Uses uses(0, 0);
    while (rows.value().next()) {
      const schema::Statement& row = rows.value();
      if (!uses.isOf(row.integer(0), row.integer(1))) uses = Uses(row.integer(0), row.integer(1));
      const auto table = static_cast<size_t>(row.integer(3));
      if (table == 0) {
        uses.call(row.integer(5), row.integer(2), row.integer(4), changes);
      } else {
        uses.work(table, row.integer(5), changes, reused);
      }
    }
  }
  if (Status applied = applyAll(database, changes); !applied.ok()) return applied.error();
  return reused;
}

}  // namespace plumb::import
