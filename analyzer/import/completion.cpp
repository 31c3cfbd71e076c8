// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/import/completion_sql.h"
#include "collector/schema/schema.h"

namespace plumb::import {
namespace {

// A column of times: moved by the delta of the row's process.
struct TimeColumn {
  std::string table, column, process;  // process: an expression for the row's process_id
};

// Those of every table that says whose its rows are, and the few whose rows belong to another table's.
Result<std::vector<TimeColumn>> timeColumns(schema::Database& database) {
  std::vector<TimeColumn> columns = {
      {"process", "start_ns", "id"},
      {"process", "end_ns", "id"},
      {"deallocation", "start_ns", "(SELECT a.process_id FROM allocation a WHERE a.id = allocation_id)"},
      {"memory_region_end", "start_ns", "(SELECT r.process_id FROM memory_region r WHERE r.id = region_id)"},
      {"collective_state", "started_ns", "(SELECT c.process_id FROM collective c WHERE c.id = collective_id)"},
      {"collective_state", "completed_ns", "(SELECT c.process_id FROM collective c WHERE c.id = collective_id)"}};
  auto rows = database.prepare(
      "SELECT s.name, c.name FROM sqlite_schema s JOIN pragma_table_info(s.name) p ON p.name = 'process_id'"
      " JOIN pragma_table_info(s.name) c ON c.name IN ('start_ns', 'source_start_ns', 'target_start_ns')"
      " WHERE s.type = 'table' AND s.name <> 'diagnostic'");
  if (!rows.ok()) return rows.error();
  while (rows.value().next()) columns.push_back({rows.value().text(0), rows.value().text(1), "process_id"});
  return columns;
}

// One time origin for all sources.
Status shiftTimes(schema::Database& database, const std::vector<ProcessShift>& shifts) {
  const auto isMoved = [](const ProcessShift& shift) { return shift.deltaNs != 0; };
  if (std::none_of(shifts.begin(), shifts.end(), isMoved)) return Unit{};
  const bool isOne = std::all_of(shifts.begin(), shifts.end(),
                                 [&](const ProcessShift& shift) { return shift.deltaNs == shifts.front().deltaNs; });
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
  const auto columns = timeColumns(database);
  if (!columns.ok()) return columns.error();
  for (const TimeColumn& one : columns.value()) {
    const std::string delta =
        isOne ? fmt::format("({})", shifts.front().deltaNs)
              : fmt::format("(SELECT delta FROM temp.shift s WHERE s.process_id = {}.{})", one.table, one.process);
    const std::string process =
        one.process.front() == '(' && !isOne
            ? fmt::format("(SELECT delta FROM temp.shift s WHERE s.process_id = {})", one.process)
            : delta;
    if (Status moved = database.execute(fmt::format("UPDATE {0} SET {1} = {1} + {2}", one.table, one.column, process));
        !moved.ok()) {
      return moved;
    }
  }
  return Unit{};
}

// What a source told about itself at a time.
Status placeDiagnostics(schema::Database& database, const std::vector<ProcessShift>& shifts) {
  auto update = database.prepare(
      fmt::format("UPDATE diagnostic SET start_ns = start_ns - {} + ? WHERE process_id = ? AND start_ns >= {}",
                  kTimedDiagnostic, kTimedDiagnostic / 2));
  if (!update.ok()) return update.error();
  for (const ProcessShift& shift : shifts) {
    update.value().bind(shift.deltaNs);
    update.value().bind(shift.process);
    if (!update.value().run()) return Error{database.lastError()};
  }
  return Unit{};
}

// By what the script tells kernels of communication.
Status addCommunicationParts(schema::Database& database) {
  if (Status made = database.execute("CREATE TEMP TABLE communication_part(part TEXT NOT NULL)"); !made.ok())
    return made;
  auto insert = database.prepare("INSERT INTO temp.communication_part VALUES(?)");
  if (!insert.ok()) return insert.error();
  for (const std::string_view part : communicationNameParts()) {
    insert.value().bind(part);
    if (!insert.value().run()) return Error{database.lastError()};
  }
  return Unit{};
}

Result<uint64_t> countRepeated(schema::Database& database) {
  auto rows = database.prepare("SELECT count(*) FROM temp.repeated");
  if (!rows.ok()) return rows.error();
  if (!rows.value().next()) return Error{database.lastError()};
  return static_cast<uint64_t>(rows.value().integer(0));
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

Result<uint64_t> completeTrace(TraceFile& file, const std::vector<ProcessShift>& shifts) {
  file.rows().commit();
  if (file.rows().failed()) return Error{file.rows().failure()};
  schema::Database& database = file.database();
  if (Status done = database.execute("BEGIN"); !done.ok()) return done.error();
  if (Status done = shiftTimes(database, shifts); !done.ok()) return done.error();
  if (Status done = placeDiagnostics(database, shifts); !done.ok()) return done.error();
  if (Status done = database.execute(std::string(schema::indexesSql())); !done.ok()) return done.error();
  if (Status done = addCommunicationParts(database); !done.ok()) return done.error();
  if (Status done = database.execute(std::string(completionSql())); !done.ok()) return done.error();
  if (Status done = nestRanges(database); !done.ok()) return done.error();
  const auto repeated = countRepeated(database);
  if (!repeated.ok()) return repeated.error();
  if (Status done = database.execute("COMMIT"); !done.ok()) return done.error();
  return repeated.value();
}

}  // namespace plumb::import
