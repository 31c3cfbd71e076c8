// SPDX-License-Identifier: Apache-2.0
// The part of ChromeWriter that knows what the program did.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "analyzer/export/chrome_members.h"
#include "analyzer/export/chrome_names.h"
#include "analyzer/export/chrome_writer.h"
#include "analyzer/export/json_text.h"

namespace plumb::exports {
namespace {

// What torch.profiler draws on the rows of devices.
bool isDrawnOnDevice(std::string_view domain) {
  static constexpr std::array<std::string_view, 4> kDomains = {"gpu_user_annotation", "cuda_profiler_range",
                                                               "mtia_ccp_events", "Trace"};
  return std::find(kDomains.begin(), kDomains.end(), domain) != kDomains.end();
}

std::optional<std::string> jsonOf(const Statement& row, int column) {
  switch (row.type(column)) {
    case ValueType::Integer:
      return std::string(row.text(column));
    case ValueType::Real:
      return std::isfinite(row.real(column)) ? std::optional(fmt::format("{}", row.real(column))) : std::nullopt;
    case ValueType::Text:
      return jsonText(row.text(column));
    default:
      return std::nullopt;
  }
}

}  // namespace

Status ChromeWriter::loadSteps() {
  m_steps.clear();
  return each("SELECT id, step FROM steps WHERE process_id = ?1 AND name NOT LIKE 'ProfilerStep#%'",
              [&](Statement& row) { m_steps.emplace(row.integer(0), row.integer(1)); });
}

// Nested ranges come first: the first event of a file is what readers link GPU work without a launch to. The payload
// comes in the same order.
Status ChromeWriter::rangeEvents() {
  if (Status loaded = loadSteps(); !loaded.ok()) return loaded;
  auto payload = m_trace.query(
      "SELECT r.kind <> 'push_pop', p.range_id, n.text, p.value FROM main.range_payload p JOIN main.range r"
      " ON r.id = p.range_id JOIN main.string n ON n.id = p.name_id WHERE r.process_id = ?1 ORDER BY 1, 2, p.rowid");
  if (!payload.ok()) return payload.error();
  Statement& field = payload.value();
  field.bind(1, m_process->id.value());
  bool hasField = field.next();
  const Status read = each(
      "SELECT id, start_ns, duration_ns, name_id, thread_id, kind, domain_id FROM main.range WHERE process_id = ?1"
      " ORDER BY kind <> 'push_pop', id",
      [&](Statement& row) {
        const std::pair place(row.text(5) != "push_pop", row.integer(0));
        Members members;
        for (; hasField && std::pair(field.integer(0) != 0, field.integer(1)) <= place; hasField = field.next()) {
          const auto value = field.integer(1) == row.integer(0) ? jsonOf(field, 3) : std::nullopt;
          if (value) members.add(field.text(2), *value);
        }
        rangeEvent(row, members.take());
      });
  return read.ok() ? field.status() : read;
}

void ChromeWriter::rangeEvent(Statement& row, const std::string& payload) {
  const int64_t id = row.integer(0), start = row.integer(1);
  const std::string& name = quoted(row.id<StringId>(3));
  const auto domain = row.id<StringId>(6);
  const std::string category = domain == StringId(0) ? "\"user_annotation\"" : quoted(domain);
  int64_t pid = m_pid, tid = tidOf(row.id<ThreadId>(4));
  const bool isOnDevice = isDrawnOnDevice(m_trace.text(domain));
  const auto stream = isOnDevice ? m_placeOfStream.find(tid) : m_placeOfStream.end();
  if (stream != m_placeOfStream.end()) pid = stream->second.pid;
  const std::string arguments = payload.empty() ? std::string() : fmt::format(", \"args\": {{{}}}", payload);
  const auto step = m_steps.find(id);
  if (step != m_steps.end() && !row.isNull(2)) {
    event(
        R"({{"ph": "X", "cat": {}, "name": "ProfilerStep#{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"range": {}{}{}}}}})",
        category, step->second, pid, tid, at(start), micros(row.integer(2)), name, payload.empty() ? "" : ", ",
        payload);
  } else if (row.text(5) == "mark") {
    event(R"({{"ph": "i", "s": "t", "cat": {}, "name": {}, "pid": {}, "tid": {}, "ts": {}{}}})", category, name, pid,
          tid, at(start), arguments);
  } else if (row.isNull(2)) {
    event(R"({{"ph": "B", "cat": {}, "name": {}, "pid": {}, "tid": {}, "ts": {}{}}})", category, name, pid, tid,
          at(start), arguments);
  } else if (row.text(5) == "start_end" && !isOnDevice) {  // these need not nest
    event(R"({{"ph": "b", "cat": {}, "name": {}, "id": {}, "pid": {}, "tid": {}, "ts": {}{}}})", category, name, id,
          pid, tid, at(start), arguments);
    event(R"({{"ph": "e", "cat": {}, "name": {}, "id": {}, "pid": {}, "tid": {}, "ts": {}}})", category, name, id, pid,
          tid, at(start + row.integer(2)));
  } else {
    event(R"({{"ph": "X", "cat": {}, "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}{}}})", category, name, pid,
          tid, at(start), micros(row.integer(2)), arguments);
  }
}

Status ChromeWriter::operatorEvents() {
  return each(
      "SELECT o.start_ns, o.duration_ns, o.name_id, o.thread_id, o.external_id, o.sequence, o.forward_thread, d.text,"
      " t.text, s.text, v.text, r.text, o.id FROM operator o LEFT JOIN operator_argument_set a ON a.id = "
      "o.argument_set_id"
      " LEFT JOIN main.string d ON d.id = a.dims_id LEFT JOIN main.string t ON t.id = a.types_id"
      " LEFT JOIN main.string s ON s.id = a.strides_id LEFT JOIN main.string v ON v.id = a.values_id"
      " LEFT JOIN main.string r ON r.id = a.other_id WHERE o.process_id = ?1 ORDER BY o.id",
      [&](Statement& row) {
        Members members;
        if (!row.isNull(4)) members.add("External id", row.text(4));
        if (!row.isNull(5)) members.add("Sequence number", row.text(5));
        if (!row.isNull(6)) members.add("Fwd thread id", row.text(6));
        members.addText("Input Dims", row.text(7));
        members.addText("Input type", row.text(8));
        members.addText("Input Strides", row.text(9));
        members.addText("Concrete Inputs", row.text(10));
        members.addAll(row.text(11));
        if (const auto known = m_operatorCollectives.find(row.integer(12)); known != m_operatorCollectives.end()) {
          members.addMembers(known->second);
        }
        event(
            R"({{"ph": "X", "cat": "cpu_op", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
            quoted(row.id<StringId>(2)), m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(0)), micros(row.integer(1)),
            members.take());
      });
}

Status ChromeWriter::pythonEvents() {
  return each(
      "SELECT start_ns, duration_ns, name_id, thread_id, id, parent_id FROM python_call WHERE process_id = ?1"
      " ORDER BY id",
      [&](Statement& row) {
        event(
            R"({{"ph": "X", "cat": "python_function", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"Python id": {}, "Python parent id": {}}}}})",
            quoted(row.id<StringId>(2)), m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(0)), micros(row.integer(1)),
            row.integer(4), row.isNull(5) ? std::string("null") : std::string(row.text(5)));
      });
}

// Also the totals that an importer made of [memory] events: it makes none of an export's.
Status ChromeWriter::counterEvents() {
  return each("SELECT start_ns, name_id, value FROM main.counter_sample WHERE process_id = ?1", [&](Statement& row) {
    if (!std::isfinite(row.real(2))) return;  // JSON has no such number
    const std::string& name = quoted(row.id<StringId>(1));
    event(R"({{"ph": "C", "name": {}, "pid": {}, "tid": 0, "ts": {}, "args": {{{}: {}}}}})", name, m_pid,
          at(row.integer(0)), name, row.real(2));
  });
}

Status ChromeWriter::flowEvents() {
  int64_t number = 0;
  return each(
      "SELECT name_id, source_thread_id, source_start_ns, target_thread_id, target_start_ns FROM flow"
      " WHERE process_id = ?1",
      [&](Statement& row) {
        const std::string& name = quoted(row.id<StringId>(0));
        const int64_t id = arrowId(++number);
        event(R"({{"ph": "s", "cat": {}, "name": {}, "id": {}, "pid": {}, "tid": {}, "ts": {}}})", name, name, id,
              m_pid, tidOf(row.id<ThreadId>(1)), at(row.integer(2)));
        event(R"({{"ph": "f", "bp": "e", "cat": {}, "name": {}, "id": {}, "pid": {}, "tid": {}, "ts": {}}})", name,
              name, id, m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(4)));
      });
}

}  // namespace plumb::exports
