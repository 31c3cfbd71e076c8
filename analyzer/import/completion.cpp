// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/completion.h"

#include <fmt/format.h>

#include <string>

#include "analyzer/import/completion_sql.h"

namespace plumb::import {
namespace {

Status writeShifts(schema::Database& database, const std::vector<ProcessShift>& shifts) {
  if (Status made = database.execute("CREATE TEMP TABLE shift(process_id INTEGER PRIMARY KEY, delta INTEGER NOT NULL)");
      !made.ok()) {
    return made;
  }
  auto insert = database.prepare("INSERT INTO temp.shift VALUES(?, ?)");
  if (!insert.ok()) return insert.error();
  for (const ProcessShift& shift : shifts) {
    insert.value().bind(shift.process);
    insert.value().bind(shift.deltaNs);
    if (!insert.value().run()) return Error{database.lastError()};
  }
  return Unit{};
}

struct OpenRange {
  int64_t id, end;
};

// A range's parent is the innermost range of its thread that holds all of it. Ranges that overlap without nesting,
// which damaged traces have, are siblings.
Status nestRanges(schema::Database& database) {
  auto ranges = database.prepare(
      "SELECT id, thread_id, start_ns, coalesce(start_ns + duration_ns, 9223372036854775807) FROM range"
      " WHERE kind = 'push_pop' ORDER BY thread_id, start_ns, 4 DESC, id");
  if (!ranges.ok()) return ranges.error();
  auto update = database.prepare("UPDATE range SET depth = ?, parent_id = ? WHERE id = ?");
  if (!update.ok()) return update.error();
  std::vector<OpenRange> open;
  int64_t thread = -1;
  while (ranges.value().next()) {
    const int64_t id = ranges.value().integer(0), start = ranges.value().integer(2), end = ranges.value().integer(3);
    if (ranges.value().integer(1) != thread) open.clear();
    thread = ranges.value().integer(1);
    // One of no length that begins where its parent ends, or its parent is of no length too, is still inside.
    while (!open.empty() && (open.back().end < start || (open.back().end == start && end > start))) open.pop_back();
    size_t depth = open.size();
    while (depth > 0 && open[depth - 1].end < end) --depth;
    if (depth > 0) {
      update.value().bind(static_cast<int64_t>(depth));
      update.value().bind(open[depth - 1].id);
      update.value().bind(id);
      if (!update.value().run()) return Error{database.lastError()};
    }
    open.resize(depth);
    open.push_back({id, end});
  }
  return Unit{};
}

}  // namespace

Status completeTrace(TraceFile& file, const std::vector<ProcessShift>& shifts) {
  file.rows().commit();
  if (file.rows().failed()) return Error{file.rows().failure()};
  schema::Database& database = file.database();
  if (Status done = database.execute("BEGIN"); !done.ok()) return done;
  if (Status done = writeShifts(database, shifts); !done.ok()) return done;
  if (Status done = database.execute(std::string(completionSql())); !done.ok()) return done;
  if (Status done = nestRanges(database); !done.ok()) return done;
  return database.execute("COMMIT");
}

}  // namespace plumb::import
