// SPDX-License-Identifier: Apache-2.0
// The part of ChromeWriter that knows what the devices did.
#include <algorithm>
#include <tuple>

#include "analyzer/export/chrome_names.h"
#include "analyzer/export/chrome_writer.h"
#include "analyzer/export/json_text.h"
#include "collector/schema/event_flags.h"

namespace plumb::exports {
namespace {

using schema::kNoUsableTime;
constexpr int64_t kContextWait = 4;          // CUpti_ActivitySynchronizationType
constexpr int64_t kAllStreams = 4294967295;  // CUPTI's, of a wait for a whole context

}  // namespace

void ChromeWriter::arrow(const Place& place, int64_t correlation, int64_t start) {
  if (!m_launched.contains(Correlation(correlation))) return;
  event(R"({{"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": {}, "tid": {}, "ts": {}}})",
        arrowId(correlation), place.pid, place.stream, at(start));
}

// The arguments that all work has; external: the column with the id of the operator that launched it.
std::string ChromeWriter::workArguments(const Statement& row, const Place& place, int external) {
  return fmt::format(
      R"("device": {}, "context": {}, "stream": {}, "correlation": {}{})", place.ordinal, place.context, place.stream,
      row.integer(4),
      row.isNull(external) ? std::string() : fmt::format(R"(, "External id": {})", row.integer(external)));
}

void ChromeWriter::kernelEvent(Statement& row) {
  const Place place = placeOf(row.id<StreamId>(3));
  const auto collective = m_collectives.find(row.id<Correlation>(4));
  event(
      R"({{"ph": "X", "cat": "kernel", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}, "grid": [{}, {}, {}], "block": [{}, {}, {}], "registers per thread": {}, "shared memory": {}, "graph id": {}, "graph node id": {}{}}}}})",
      quoted(row.id<StringId>(7)), place.pid, place.stream, at(row.integer(1)), micros(row.integer(2)),
      workArguments(row, place, 6), row.integer(8), row.integer(9), row.integer(10), row.integer(11), row.integer(12),
      row.integer(13), row.integer(14), row.integer(15), row.integer(16), row.integer(17),
      collective == m_collectives.end() ? std::string() : ", " + collective->second);
  arrow(place, row.integer(4), row.integer(1));
}

// The data rate as torch.profiler writes it.
std::string ChromeWriter::transferArguments(const Statement& row, int bytesColumn, int bandwidth) {
  const int64_t bytes = row.integer(bytesColumn), ns = row.integer(2);
  const double computed = ns > 0 ? static_cast<double>(bytes) / static_cast<double>(ns) : 0.0;
  return fmt::format(R"j("bytes": {}, "memory bandwidth (GB/s)": {})j", bytes,
                     row.isNull(bandwidth) ? computed : row.real(bandwidth));
}

void ChromeWriter::copyEvent(Statement& row) {
  const Place place = placeOf(row.id<StreamId>(3));
  const std::string name = copyName(row.integer(8), row.integer(9), row.integer(10));
  event(
      R"({{"ph": "X", "cat": "gpu_memcpy", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}, {}}}}})",
      name, place.pid, place.stream, at(row.integer(1)), micros(row.integer(2)), workArguments(row, place, 6),
      transferArguments(row, 7, 11));
  arrow(place, row.integer(4), row.integer(1));
}

void ChromeWriter::setEvent(Statement& row) {
  const Place place = placeOf(row.id<StreamId>(3));
  const std::string name = fmt::format("Memset ({})", memoryKindName(row.integer(8)));
  event(
      R"({{"ph": "X", "cat": "gpu_memset", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}, {}}}}})",
      name, place.pid, place.stream, at(row.integer(1)), micros(row.integer(2)), workArguments(row, place, 6),
      transferArguments(row, 7, 9));
  arrow(place, row.integer(4), row.integer(1));
}

void ChromeWriter::waitEvent(Statement& row) {
  const int64_t kind = row.integer(6);
  const Place place = row.isNull(3) ? Place{m_pid, 0, -1, 0} : placeOf(row.id<StreamId>(3));
  // Sources whose waits for events are not recorded write all streams of a context so, which counts for HTA.
  const int64_t stream = row.isNull(3) && kind == kContextWait && !m_hasEventWaits ? kAllStreams : place.stream;
  std::string more;
  if (!row.isNull(7)) more += fmt::format(R"(, "wait_on_cuda_event_id": {})", row.integer(7));
  if (!row.isNull(8)) more += fmt::format(R"(, "wait_on_stream": {})", placeOf(row.id<StreamId>(8)).stream);
  if (!row.isNull(9)) more += fmt::format(R"(, "wait_on_cuda_event_record_corr_id": {})", row.integer(9));
  event(
      R"({{"ph": "X", "cat": "cuda_sync", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"cuda_sync_kind": "{}", "device": {}, "context": {}, "stream": {}, "correlation": {}{}}}}})",
      syncName(kind), place.pid, place.stream, at(row.integer(1)), micros(row.integer(2)), syncName(kind),
      place.ordinal, place.context, stream, row.integer(4), more);
}

// When the device came to a record of an event (cudaEventRecord).
Status ChromeWriter::recordEvents() {
  return each(
      "SELECT start_ns, stream_id, event_id, sync_id, correlation FROM event_record"
      " WHERE process_id = ?1 AND start_ns IS NOT NULL ORDER BY id",
      [&](Statement& row) {
        const Place place = placeOf(row.id<StreamId>(1));
        event(
            R"({{"ph": "i", "s": "t", "cat": "cuda_event_record", "name": "Event Record", "pid": {}, "tid": {}, "ts": {}, "args": {{"device": {}, "context": {}, "stream": {}, "correlation": {}, "event id": {}, "sync id": {}}}}})",
            place.pid, place.stream, at(row.integer(0)), place.ordinal, place.context, place.stream, row.integer(4),
            row.integer(2), row.isNull(3) ? std::string("null") : std::string(row.text(3)));
      });
}

Status ChromeWriter::addLane(const char* sql, void (ChromeWriter::*put)(Statement&)) {
  auto rows = m_trace.query(sql);
  if (!rows.ok()) return rows.error();
  rows.value().bind(1, m_process->id.value());
  m_lanes.push_back({std::move(rows).value(), put});
  return Unit{};
}

void ChromeWriter::advance(Lane& lane) {
  while ((lane.hasRow = lane.rows.next())) {
    if (lane.rows.integer(5) & kNoUsableTime) continue;
    const int64_t correlation = lane.rows.integer(4);
    if (correlation < lane.correlation) ++lane.section;
    lane.correlation = correlation;
    return;
  }
}

// A source lists work by correlation id, whatever its kind, and begins anew with each buffer. Readers that sort by time
// find events of the same time in that order (analyses/hta/hta_trace.cpp, toFileOrder()). The first columns are the
// same for all kinds: id, start, duration, stream, correlation id, flags.
Status ChromeWriter::gpuEvents() {
  auto eventWaits = m_trace.query("SELECT 1 FROM main.synchronization WHERE kind = 1 LIMIT 1");
  if (!eventWaits.ok()) return eventWaits.error();
  m_hasEventWaits = eventWaits.value().next();
  m_lanes.clear();
  const Status added[] = {
      addLane("SELECT k.id, k.start_ns, k.duration_ns, k.stream_id, k.correlation, k.flags, o.external_id, k.name_id,"
              " grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread,"
              " static_shared_bytes + dynamic_shared_bytes, graph_id, graph_node_id FROM main.kernel k"
              " LEFT JOIN operator_launch l ON l.process_id = k.process_id AND l.correlation = k.correlation"
              " LEFT JOIN operator o ON o.id = l.operator_id WHERE k.process_id = ?1 ORDER BY k.id",
              &ChromeWriter::kernelEvent),
      addLane("SELECT k.id, k.start_ns, k.duration_ns, k.stream_id, k.correlation, k.flags, o.external_id, k.bytes,"
              " k.copy_kind, k.source_kind, k.target_kind, b.gb_per_s FROM main.memory_copy k"
              " LEFT JOIN memory_copy_bandwidth b ON b.memory_copy_id = k.id"
              " LEFT JOIN operator_launch l ON l.process_id = k.process_id AND l.correlation = k.correlation"
              " LEFT JOIN operator o ON o.id = l.operator_id WHERE k.process_id = ?1 ORDER BY k.id",
              &ChromeWriter::copyEvent),
      addLane("SELECT k.id, k.start_ns, k.duration_ns, k.stream_id, k.correlation, k.flags, o.external_id, k.bytes,"
              " k.memory_kind, b.gb_per_s FROM main.memory_set k"
              " LEFT JOIN memory_set_bandwidth b ON b.memory_set_id = k.id"
              " LEFT JOIN operator_launch l ON l.process_id = k.process_id AND l.correlation = k.correlation"
              " LEFT JOIN operator o ON o.id = l.operator_id WHERE k.process_id = ?1 ORDER BY k.id",
              &ChromeWriter::setEvent),
      addLane("SELECT y.id, y.start_ns, y.duration_ns, y.stream_id, y.correlation, 0, y.kind, y.event_id,"
              " e.recorded_stream_id, e.recorded_correlation FROM main.synchronization y"
              " LEFT JOIN synchronization_event e ON e.synchronization_id = y.id WHERE y.process_id = ?1 ORDER BY y.id",
              &ChromeWriter::waitEvent)};
  for (const Status& one : added) {
    if (!one.ok()) return one;
  }
  for (Lane& lane : m_lanes) advance(lane);
  while (true) {
    const auto next = std::min_element(m_lanes.begin(), m_lanes.end(), [](const Lane& a, const Lane& b) {
      return std::tuple(!a.hasRow, a.section, a.correlation) < std::tuple(!b.hasRow, b.section, b.correlation);
    });
    if (!next->hasRow) break;
    (this->*next->put)(next->rows);
    advance(*next);
  }
  for (const Lane& lane : m_lanes) {
    if (Status read = lane.rows.status(); !read.ok()) return read;
  }
  m_lanes.clear();
  return Unit{};
}

}  // namespace plumb::exports
