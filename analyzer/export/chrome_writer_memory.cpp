// SPDX-License-Identifier: Apache-2.0
// The part of ChromeWriter that knows memory.
#include "analyzer/export/chrome_writer.h"
#include "analyzer/export/json_text.h"

namespace plumb::exports {

// Columns: time, address, bytes (negative: freed), space, ordinal, requested bytes, stack, from_pool. c10's DeviceType
// 0 is the host, 1 a GPU; torch.profiler has no type for memory of other kinds, which has an event of its own.
void ChromeWriter::memoryEvent(Statement& row) {
  const std::string space(row.text(3));
  const int64_t type = space == "device" ? 1 : 0, ordinal = row.isNull(4) ? -1 : row.integer(4);
  int64_t& total = m_allocated[{space, ordinal}];
  (void)__builtin_add_overflow(total, row.integer(2), &total);
  std::string more;
  if (row.integer(2) > 0) {
    if (!row.isNull(5)) more = fmt::format(R"(, "Requested Bytes": {})", row.integer(5));
    more += stackMember(row, 6);
  }
  if (space == "device" || space == "pageable") {
    event(
        R"({{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": {}, "tid": 0, "ts": {}, "args": {{"Addr": {}, "Bytes": {}, "Total Allocated": {}, "Device Type": {}, "Device Id": {}{}}}}})",
        m_pid, at(row.integer(0)), row.integer(1), row.integer(2), total, type, ordinal, more);
  } else {
    event(
        R"({{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[allocation]", "pid": {}, "tid": 0, "ts": {}, "args": {{"Addr": {}, "Bytes": {}, "Space": {}, "Device Id": {}, "From Pool": {}{}}}}})",
        m_pid, at(row.integer(0)), row.integer(1), row.integer(2), jsonText(space), ordinal, row.integer(7), more);
  }
}

Status ChromeWriter::memoryEvents() {
  m_allocated.clear();
  return each(
      "WITH piece AS (SELECT a.id, a.start_ns, a.address, a.bytes, a.space,"
      " CASE WHEN a.space = 'device' THEN coalesce(d.ordinal, 0) ELSE coalesce(d.ordinal, -1) END AS ordinal,"
      " a.from_pool FROM main.allocation a LEFT JOIN main.device d ON d.id = a.device_id WHERE a.process_id = ?1)"
      " SELECT start_ns AS at, address, bytes, space, ordinal, i.requested_bytes, i.stack_id, from_pool FROM piece p"
      " LEFT JOIN allocation_detail i ON i.allocation_id = p.id"
      " UNION ALL SELECT f.start_ns, address, -bytes, space, ordinal, NULL, NULL, from_pool"
      " FROM piece p JOIN main.deallocation f ON f.allocation_id = p.id ORDER BY at",
      [&](Statement& row) { memoryEvent(row); });
}

Status ChromeWriter::regionEvents() {
  return each(
      "SELECT start_ns AS at, address, bytes, name_id, category FROM main.memory_region WHERE process_id = ?1"
      " UNION ALL SELECT e.start_ns, r.address, -r.bytes, r.name_id, r.category FROM main.memory_region r"
      " JOIN main.memory_region_end e ON e.region_id = r.id WHERE r.process_id = ?1 ORDER BY at",
      [&](Statement& row) {
        event(
            R"({{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory region]", "pid": {}, "tid": 0, "ts": {}, "args": {{"Addr": {}, "Bytes": {}, "Name": {}, "Category": {}}}}})",
            m_pid, at(row.integer(0)), row.integer(1), row.integer(2), quoted(row.id<StringId>(3)),
            jsonText(row.text(4)));
      });
}

}  // namespace plumb::exports
