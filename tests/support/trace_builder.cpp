// SPDX-License-Identifier: Apache-2.0
#include "tests/support/trace_builder.h"

#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "collector/schema/schema.h"

namespace plumb::test {
namespace {

[[noreturn]] void die(const std::string& what, sqlite3* database) {
  std::fprintf(stderr, "trace_builder: %s: %s\n", what.c_str(), database ? sqlite3_errmsg(database) : "");
  std::abort();
}

std::string numbers(int count) {
  std::string list = "?";
  for (int i = 1; i < count; ++i) list += ",?";
  return list;
}

}  // namespace

TraceBuilder::TraceBuilder(std::string path) : m_path(std::move(path)) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) std::remove((m_path + suffix).c_str());
  if (sqlite3_open(m_path.c_str(), &m_database) != SQLITE_OK) die("cannot create " + m_path, m_database);
  execute("PRAGMA application_id=" + std::to_string(schema::kApplicationId) +
          "; PRAGMA user_version=" + std::to_string(schema::kVersion) + "; PRAGMA synchronous=OFF; BEGIN");
  execute(std::string(schema::tablesSql()));
  execute(std::string(schema::viewsSql()));
  execute("INSERT INTO string VALUES(0, '')");
  setMeta("schema_version", std::to_string(schema::kVersion));
  setMeta("session_start_realtime_ns", "1700000000000000000");
  setMeta("session_start_monotonic_ns", "1000000000");
  setMeta("host", "node0");
  setMeta("command", "train --steps 5");
  setMeta("recorder_version", "0.1.0");
  setMeta("plumb_version", "0.1.0");
}

TraceBuilder::~TraceBuilder() { finish(); }

void TraceBuilder::finish(bool complete) {
  if (!m_database) return;
  if (complete) {
    setMeta("complete", "1");
    execute(std::string(schema::indexesSql()));
  }
  execute("COMMIT");
  if (sqlite3_close(m_database) != SQLITE_OK) die("cannot close " + m_path, m_database);
  m_database = nullptr;
}

void TraceBuilder::execute(const std::string& sql) {
  if (sqlite3_exec(m_database, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) die(sql, m_database);
}

int64_t TraceBuilder::insert(const char* sql, std::initializer_list<Bound> values) {
  sqlite3_stmt* statement = nullptr;
  const std::string text =
      std::string("INSERT INTO ") + sql + " VALUES(" + numbers(static_cast<int>(values.size())) + ")";
  if (sqlite3_prepare_v2(m_database, text.c_str(), -1, &statement, nullptr) != SQLITE_OK) die(text, m_database);
  int parameter = 0;
  for (const Bound& value : values) {
    ++parameter;
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      sqlite3_bind_int64(statement, parameter, *integer);
    } else if (const auto* real = std::get_if<double>(&value)) {
      sqlite3_bind_double(statement, parameter, *real);
    } else if (const auto* string = std::get_if<std::string>(&value)) {
      sqlite3_bind_text64(statement, parameter, string->data(), string->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
  }
  if (sqlite3_step(statement) != SQLITE_DONE) die(text, m_database);
  sqlite3_finalize(statement);
  return sqlite3_last_insert_rowid(m_database);
}

int64_t TraceBuilder::text(std::string_view wanted) {
  const auto known = m_texts.find(wanted);
  if (known != m_texts.end()) return known->second;
  if (wanted.empty()) return 0;
  const int64_t id = insert("string(text)", {std::string(wanted)});
  m_texts.emplace(wanted, id);
  return id;
}

namespace {
std::variant<std::nullptr_t, int64_t, double, std::string> orNull(const std::optional<int64_t>& value) {
  if (value) return *value;
  return nullptr;
}
}  // namespace

int64_t TraceBuilder::addProcess(const ProcessSpec& spec) {
  return insert(
      "process(pid, parent_pid, host_id, program_id, command_id, rank, local_rank, world_size, start_ns, end_ns, "
      "ended)",
      {spec.pid ? spec.pid : m_nextPid++, int64_t{1}, text(spec.host), text(spec.program),
       text(spec.program + " --steps 5"), orNull(spec.rank), orNull(spec.rank), spec.worldSize, int64_t{0},
       orNull(spec.endNs), spec.endNs ? Bound(spec.ended) : Bound(nullptr)});
}

int64_t TraceBuilder::addThread(int64_t process, int64_t tid, std::string_view name) {
  return insert("thread(process_id, tid, name_id)",
                {process, tid ? tid : m_nextPid++, name.empty() ? Bound(nullptr) : Bound(text(name))});
}

int64_t TraceBuilder::addDevice(int64_t process, const DeviceSpec& spec) {
  return insert(
      "device(process_id, ordinal, name_id, kind, uuid, compute_major, compute_minor, multiprocessor_count, "
      "memory_bytes,"
      " memory_bandwidth_bytes_per_s, core_clock_hz)",
      {process, spec.ordinal, text(spec.name), spec.kind, std::string("00000000000000000000000000000000"),
       orNull(spec.computeMajor), orNull(spec.computeMinor), orNull(spec.multiprocessors), orNull(spec.memoryBytes),
       orNull(spec.bandwidth), orNull(spec.clockHz)});
}

void TraceBuilder::addRoof(int64_t process, int64_t ordinal, std::string_view resource, double perSecond,
                           std::string_view source) {
  insert("device_roof(process_id, ordinal, resource, per_second, source)",
         {process, ordinal, std::string(resource), perSecond, std::string(source)});
}

int64_t TraceBuilder::addStream(int64_t process, int64_t device, int64_t number, std::string_view name) {
  return insert("stream(process_id, device_id, context, number, name_id)",
                {process, device, int64_t{1}, number, name.empty() ? Bound(nullptr) : Bound(text(name))});
}

int64_t TraceBuilder::addKernel(const Work& work, std::string_view name) {
  const int64_t correlation = work.correlation ? work.correlation : newCorrelation();
  return insert(
      "kernel(process_id, device_id, stream_id, start_ns, duration_ns, name_id, short_name_id, mangled_name_id, "
      "correlation,"
      " grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, static_shared_bytes, "
      "dynamic_shared_bytes,"
      " local_bytes_per_thread, flags)",
      {work.process,    work.device,
       work.stream,     work.startNs,
       work.durationNs, text("void " + std::string(name) + "(float*)"),
       text(name),      text("_Z" + std::string(name)),
       correlation,     int64_t{64},
       int64_t{1},      int64_t{1},
       int64_t{256},    int64_t{1},
       int64_t{1},      int64_t{32},
       int64_t{0},      int64_t{0},
       int64_t{0},      work.flags});
}

int64_t TraceBuilder::addCopy(const Work& work, int64_t bytes, int64_t copyKind, int64_t sourceKind,
                              int64_t targetKind) {
  return insert(
      "memory_copy(process_id, device_id, stream_id, start_ns, duration_ns, bytes, copy_kind, source_kind, target_kind,"
      " is_async, correlation, flags)",
      {work.process, work.device, work.stream, work.startNs, work.durationNs, bytes, copyKind, sourceKind, targetKind,
       int64_t{1}, work.correlation ? work.correlation : newCorrelation(), work.flags});
}

int64_t TraceBuilder::addSet(const Work& work, int64_t bytes) {
  return insert(
      "memory_set(process_id, device_id, stream_id, start_ns, duration_ns, bytes, value, memory_kind, is_async, "
      "correlation,"
      " flags)",
      {work.process, work.device, work.stream, work.startNs, work.durationNs, bytes, int64_t{0}, int64_t{3}, int64_t{1},
       work.correlation ? work.correlation : newCorrelation(), work.flags});
}

int64_t TraceBuilder::addApiCall(int64_t process, int64_t thread, int64_t startNs, int64_t durationNs,
                                 std::string_view name, int64_t correlation) {
  return insert("api_call(process_id, thread_id, start_ns, duration_ns, name_id, layer, correlation, result)",
                {process, thread, startNs, durationNs, text(name), std::string("runtime"), correlation, int64_t{0}});
}

int64_t TraceBuilder::addRange(int64_t process, int64_t thread, int64_t startNs, std::optional<int64_t> durationNs,
                               std::string_view name, int64_t depth, std::optional<int64_t> parent) {
  return insert("range(process_id, thread_id, start_ns, duration_ns, kind, depth, parent_id, domain_id, name_id)",
                {process, thread, startNs, orNull(durationNs), std::string("push_pop"), depth, orNull(parent),
                 int64_t{0}, text(name)});
}

void TraceBuilder::addPayload(int64_t range, std::string_view field, const Value& value) {
  insert("range_payload(range_id, name_id, value)",
         {range, text(field), std::visit([](const auto& v) -> Bound { return v; }, value)});
}

int64_t TraceBuilder::addCommunicator(int64_t process, int64_t hash, int64_t nRanks, int64_t rank,
                                      std::string_view name) {
  return insert("communicator(process_id, hash, name_id, n_ranks, rank, n_nodes)",
                {process, hash, name.empty() ? Bound(nullptr) : Bound(text(name)), nRanks, rank, int64_t{1}});
}

int64_t TraceBuilder::addCollective(const CollectiveSpec& spec) {
  return insert(
      "collective(process_id, thread_id, communicator_id, start_ns, duration_ns, sequence, operation_id, datatype_id,"
      " element_count, bytes, algorithm_id, protocol_id, channels, external_id)",
      {spec.process, spec.thread, spec.communicator, spec.startNs, spec.durationNs, spec.sequence, text(spec.operation),
       text(spec.datatype), spec.elementCount, spec.bytes, text("RING"), text("SIMPLE"), int64_t{2},
       orNull(spec.externalId)});
}

int64_t TraceBuilder::addLibraryCall(const LibraryCallSpec& spec) {
  const double m = static_cast<double>(spec.m), n = static_cast<double>(spec.n), k = static_cast<double>(spec.k);
  const double bytes = spec.bytes > 0 ? spec.bytes : 2 * (m * k + k * n + m * n);
  return insert(
      "library_call(process_id, thread_id, start_ns, duration_ns, name_id, m, n, k, batch, transpose_a, transpose_b,"
      " datatype_a_id, datatype_b_id, datatype_c_id, compute_type_id, flops, bytes, external_id)",
      {spec.process, spec.thread, spec.startNs, spec.durationNs, text(spec.name), spec.m, spec.n, spec.k, int64_t{1},
       int64_t{0}, int64_t{0}, text(spec.computeType), text(spec.computeType), text(spec.computeType),
       text(spec.computeType), 2 * m * n * k, bytes, spec.externalId});
}

void TraceBuilder::addLink(int64_t process, int64_t externalId, int64_t correlation) {
  insert("correlation_link(process_id, external_id, correlation)", {process, externalId, correlation});
}

int64_t TraceBuilder::addAllocation(const AllocationSpec& spec) {
  const int64_t id = insert(
      "allocation(process_id, device_id, start_ns, address, bytes, space, from_pool)",
      {spec.process, orNull(spec.device), spec.startNs, spec.address, spec.bytes, spec.space, int64_t{spec.fromPool}});
  if (spec.freedNs) insert("deallocation(allocation_id, start_ns)", {id, *spec.freedNs});
  return id;
}

int64_t TraceBuilder::addRegion(int64_t process, int64_t startNs, int64_t address, int64_t bytes, std::string_view name,
                                std::optional<int64_t> endNs) {
  const int64_t id =
      insert("memory_region(process_id, start_ns, address, bytes, name_id, category)",
             {process, startNs, address, bytes, text(name), std::string(name.substr(0, name.find('/')))});
  if (endNs) insert("memory_region_end(region_id, start_ns)", {id, *endNs});
  return id;
}

void TraceBuilder::addDiagnostic(std::optional<int64_t> process, std::string_view severity, std::string_view lane,
                                 std::string_view code, int64_t count, std::string_view message) {
  insert("diagnostic(process_id, start_ns, severity, lane, code, count, message)",
         {orNull(process), int64_t{0}, std::string(severity), std::string(lane), std::string(code), count,
          std::string(message)});
}

void TraceBuilder::addCounter(int64_t process, int64_t startNs, std::string_view name, double value) {
  insert("counter_sample(process_id, start_ns, name_id, value)", {process, startNs, text(name), value});
}

void TraceBuilder::addPlugin(int64_t process, std::string_view name, std::string_view state) {
  insert("plugin(process_id, name, version, state)",
         {process, std::string(name), std::string("1"), std::string(state)});
}

void TraceBuilder::setMeta(std::string_view key, std::string_view value) {
  execute("DELETE FROM meta WHERE key = '" + std::string(key) + "'");
  insert("meta(key, value)", {std::string(key), std::string(value)});
}

}  // namespace plumb::test
