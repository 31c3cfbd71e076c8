// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/range_lane.h"

#include <algorithm>

namespace plumb::import {

void RangeLane::note(int64_t time) {
  m_isDisordered |= time < m_lastNs;
  m_lastNs = std::max(m_lastNs, time);
}

void RangeLane::keep(int64_t id) {
  if (!m_written.empty() && m_written.back().last + 1 == id) {
    m_written.back().last = id;
  } else {
    m_written.push_back({id, id});
  }
}

void RangeLane::begin(OpenRange open) {
  note(open.start);
  m_open.push_back(std::move(open));
}

void RangeLane::end(int64_t time, uint64_t offset, const Write& write) {
  note(time);
  if (m_open.empty() || m_open.back().start > time) {
    m_early.emplace_back(time, offset);
    return;
  }
  keep(write(m_open.back(), time));
  m_open.pop_back();
}

void RangeLane::writeOpen(const Write& write) {
  m_neverEnded = m_open.size();
  for (OpenRange& open : m_open) keep(write(open, std::nullopt));
  m_open.clear();
}

Status RangeLane::finish(TraceFile& file, Tally& tally, uint64_t offset) {
  if (m_isDisordered) return pairAnew(file, tally, offset);
  for (const auto& [time, place] : m_early) tally.count(Reason::EndWithoutBegin, place);
  for (uint64_t i = 0; i < m_neverEnded; ++i) tally.count(Reason::NeverEnded, offset);
  return Unit{};
}

Status RangeLane::pairAnew(TraceFile& file, Tally& tally, uint64_t offset) {
  struct Begin {
    int64_t start, id;
    std::optional<int64_t> end;
  };
  std::vector<Begin> begins;
  std::vector<std::pair<int64_t, uint64_t>> ends = m_early;
  schema::Database& database = file.database();
  auto rows = database.prepare(
      "SELECT start_ns, id, duration_ns IS NOT NULL, start_ns + duration_ns FROM range WHERE id BETWEEN ? AND ?");
  if (!rows.ok()) return rows.error();
  for (const Ids& ids : m_written) {
    rows.value().bind(ids.first);
    rows.value().bind(ids.last);
    while (rows.value().next()) {
      begins.push_back({rows.value().integer(0), rows.value().integer(1), std::nullopt});
      if (rows.value().integer(2) != 0) ends.emplace_back(rows.value().integer(3), offset);
    }
    (void)rows.value().run();  // ready for the next ids
  }
  // Of several that begin at one time the outer one was written last.
  std::sort(begins.begin(), begins.end(),
            [](const Begin& a, const Begin& b) { return std::pair(a.start, -a.id) < std::pair(b.start, -b.id); });
  std::sort(ends.begin(), ends.end());
  std::vector<Begin*> open;
  auto next = begins.begin();
  for (const auto& [time, place] : ends) {
    // What begins at this very time is closed by it only when nothing else is open.
    while (next != begins.end() && (next->start < time || (next->start == time && open.empty()))) {
      open.push_back(&*next++);
    }
    if (open.empty()) {
      tally.count(Reason::EndWithoutBegin, place);
      continue;
    }
    open.back()->end = time;
    open.pop_back();
  }
  auto update = database.prepare("UPDATE range SET duration_ns = ? - start_ns WHERE id = ?");
  if (!update.ok()) return update.error();
  for (const Begin& one : begins) {
    if (!one.end) tally.count(Reason::NeverEnded, offset);
    update.value().bind(one.end);
    update.value().bind(one.id);
    if (!update.value().run()) return Error{database.lastError()};
  }
  return Unit{};
}

}  // namespace plumb::import
