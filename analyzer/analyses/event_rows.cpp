// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/event_rows.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/trace/row_scan.h"
#include "analyzer/trace/shared_loads.h"
#include "collector/schema/event_flags.h"

namespace plumb {

size_t rowsPerPart(Trace& trace, const char* table, size_t parts) {
  auto rows = trace.query(std::string("SELECT count(*) FROM ") + table);
  const bool isRead = rows.ok() && rows.value().next();
  return isRead ? static_cast<size_t>(rows.value().integer(0)) / std::max<size_t>(1, parts) : 0;
}

namespace {

using schema::kFromGraph;
using schema::kNoUsableTime;

Status readWork(Trace& trace, const std::function<void(const WorkRow&)>& take) {
  struct Table {
    WorkKind what;
    const char* columns;
    const char* name;
  };
  static constexpr Table kTables[] = {
      {WorkKind::Kernel,
       "id, process_id, device_id, stream_id, correlation, start_ns, duration_ns, flags, name_id, short_name_id",
       "main.kernel"},
      {WorkKind::Copy, "id, process_id, device_id, stream_id, correlation, start_ns, duration_ns, flags, copy_kind",
       "main.memory_copy"},
      {WorkKind::Set, "id, process_id, device_id, stream_id, correlation, start_ns, duration_ns, flags",
       "main.memory_set"}};
  for (const Table& table : kTables) {
    const WorkKind what = table.what;
    const Status read = scanRows(trace.database(), table.columns, table.name, [&](const RowValues& row) {
      WorkRow work;
      work.what = what;
      work.id = row.integer(0);
      work.process = row.id<ProcessId>(1);
      work.device = row.id<DeviceId>(2);
      work.stream = row.id<StreamId>(3);
      work.correlation = row.id<Correlation>(4);
      const int64_t start = row.integer(5), duration = row.integer(6), flags = row.integer(7);
      work.isTimed = !(flags & kNoUsableTime) && isUsableTime(start, duration);
      if (work.isTimed) work.time = intervalOf(start, duration);
      work.isFromGraph = flags & kFromGraph;
      if (what == WorkKind::Kernel) {
        work.name = row.id<StringId>(8);
        work.shortName = row.id<StringId>(9);
      } else if (what == WorkKind::Copy) {
        work.copyKind = static_cast<uint8_t>(row.integer(8));
      }
      take(work);
    });
    if (!read.ok()) return read;
  }
  return Unit{};
}

Status readCalls(Trace& trace, const std::function<void(const CallRow&)>& take) {
  return scanRows(trace.database(), "process_id, thread_id, name_id, correlation, start_ns, duration_ns",
                  "main.api_call", [&](const RowValues& row) {
                    CallRow call;
                    call.process = row.id<ProcessId>(0);
                    call.thread = row.id<ThreadId>(1);
                    call.name = row.id<StringId>(2);
                    call.correlation = row.id<Correlation>(3);
                    call.start = row.time(4);
                    call.isTimed = isUsableTime(row.integer(4), row.integer(5));
                    if (call.isTimed) call.time = intervalOf(row.integer(4), row.integer(5));
                    take(call);
                  });
}

// From what is shared, else from the file.
template <class Row>
Status forEachShared(Trace& trace, std::initializer_list<const char*> tables,
                     Status (*read)(Trace&, const std::function<void(const Row&)>&),
                     const std::function<void(const Row&)>& take) {
  SharedLoads* loads = trace.sharedLoads();
  if (!loads) return read(trace, take);
  auto rows = loads->get<std::vector<Row>>([&]() -> Result<std::vector<Row>> {
    size_t count = 0;
    for (const char* table : tables) count += rowsPerPart(trace, table, 1);
    std::vector<Row> all;
    all.reserve(count);
    if (const Status done = read(trace, [&](const Row& row) { all.push_back(row); }); !done.ok()) return done.error();
    return all;
  });
  if (!rows.ok()) return rows.error();
  for (const Row& row : *rows.value()) take(row);
  return Unit{};
}

}  // namespace

Status forEachWork(Trace& trace, const std::function<void(const WorkRow&)>& take) {
  return forEachShared<WorkRow>(trace, {"main.kernel", "main.memory_copy", "main.memory_set"}, readWork, take);
}

Status forEachCall(Trace& trace, const std::function<void(const CallRow&)>& take) {
  return forEachShared<CallRow>(trace, {"main.api_call"}, readCalls, take);
}

}  // namespace plumb
