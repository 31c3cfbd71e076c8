// SPDX-License-Identifier: Apache-2.0
// The part of ChromeWriter that knows the calls of a program into libraries, and who made them.
#include <algorithm>
#include <cmath>

#include "analyzer/export/chrome_members.h"
#include "analyzer/export/chrome_names.h"
#include "analyzer/export/chrome_writer.h"
#include "analyzer/export/json_text.h"

namespace plumb::exports {

// As torch.profiler writes them: "file.py(12): function;…", innermost first. Each is kept once.
Status ChromeWriter::loadStacks() {
  if (!m_stacks.empty()) return Unit{};  // of the whole file
  std::string text;
  int64_t current = 0;
  const auto finish = [&] {
    if (!text.empty()) m_stacks.emplace(current, jsonText(text));
    text.clear();
  };
  const auto clean = [](std::string_view name) {
    std::string result(name);
    std::ranges::replace(result, ';', ',');
    return result;
  };
  auto rows = m_trace.query("SELECT stack_id, function_id, file_id, line FROM stack_frame ORDER BY stack_id, depth");
  if (!rows.ok()) return rows.error();
  for (Statement& row = rows.value(); row.next();) {
    if (row.integer(0) != current) finish();
    current = row.integer(0);
    text += fmt::format("{}{}({}): {}", text.empty() ? "" : ";", clean(m_trace.text(row.id<StringId>(2))),
                        row.integer(3), clean(m_trace.text(row.id<StringId>(1))));
  }
  finish();
  return rows.value().status();
}

std::string ChromeWriter::stackMember(const Statement& row, int column) const {
  const auto known = row.isNull(column) ? m_stacks.end() : m_stacks.find(row.integer(column));
  return known == m_stacks.end() ? std::string() : ", \"Call stack\": " + known->second;
}

Status ChromeWriter::loadLinks() {
  m_links.clear();
  return each("SELECT external_id, correlation FROM main.correlation_link WHERE process_id = ?1 ORDER BY 1, 2",
              [&](Statement& row) { m_links.emplace_back(row.integer(0), row.integer(1)); });
}

std::string ChromeWriter::linkedTo(int64_t external) const {
  std::string text;
  for (auto at = std::ranges::lower_bound(m_links, std::pair(external, INT64_MIN));
       at != m_links.end() && at->first == external; ++at) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", at->second);
  }
  return text;
}

Status ChromeWriter::apiEvents() {
  m_launched.clear();
  const Status called = each(
      "SELECT start_ns, duration_ns, name_id, thread_id, layer, correlation, result, s.stack_id FROM main.api_call"
      " LEFT JOIN api_call_stack s ON s.api_call_id = id WHERE process_id = ?1 ORDER BY id",
      [&](Statement& row) {
        const int64_t result = row.integer(6);
        event(
            R"({{"ph": "X", "cat": "{}", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"correlation": {}{}{}}}}})",
            row.text(4) == "driver" ? "cuda_driver" : "cuda_runtime", quoted(row.id<StringId>(2)), m_pid,
            tidOf(row.id<ThreadId>(3)), at(row.integer(0)), micros(row.integer(1)), row.integer(5),
            result == 0 ? std::string() : fmt::format(", \"return value\": {}", result), stackMember(row, 7));
        if (row.integer(5) == 0) return;  // nothing says what it launched
        m_launched.insert(row.id<Correlation>(5));
        event(R"({{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": {}, "tid": {}, "ts": {}}})",
              arrowId(row.integer(5)), m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(0)));
      });
  return called.ok() ? launchingOperators() : called;
}

// Operators that nothing leads to their work: no id of theirs in its arguments, and no launching call.
Status ChromeWriter::launchingOperators() {
  return each(
      "SELECT l.correlation, o.thread_id, o.start_ns FROM operator_launch l JOIN operator o ON o.id = l.operator_id"
      " WHERE l.process_id = ?1 AND o.external_id IS NULL",
      [&](Statement& row) {
        if (!m_launched.insert(row.id<Correlation>(0)).second) return;
        event(R"({{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": {}, "pid": {}, "tid": {}, "ts": {}}})",
              arrowId(row.integer(0)), m_pid, tidOf(row.id<ThreadId>(1)), at(row.integer(2)));
      });
}

Status ChromeWriter::osEvents() {
  return each(
      "SELECT start_ns, duration_ns, name_id, thread_id, result, stack_id FROM os_call WHERE process_id = ?1"
      " ORDER BY id",
      [&](Statement& row) {
        event(
            R"({{"ph": "X", "cat": "os_call", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{"return value": {}{}}}}})",
            quoted(row.id<StringId>(2)), m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(0)), micros(row.integer(1)),
            row.integer(4), stackMember(row, 5));
      });
}

Status ChromeWriter::libraryEvents() {
  return each(
      "SELECT start_ns, duration_ns, name_id, thread_id, external_id, m, n, k, batch, transpose_a, transpose_b,"
      " datatype_a_id, datatype_b_id, datatype_c_id, compute_type_id, flops, bytes FROM main.library_call"
      " WHERE process_id = ?1 ORDER BY id",
      [&](Statement& row) {
        Members members;
        int column = 5;
        for (const char* key : {"m", "n", "k", "batch", "transpose a", "transpose b"}) {
          members.addNumber(key, row.integer(column++));
        }
        for (const char* key : {"dtype a", "dtype b", "dtype c", "compute type"}) {
          members.add(key, quoted(row.id<StringId>(column++)));
        }
        for (const char* key : {"flops", "bytes"}) {
          if (std::isfinite(row.real(column))) members.addNumber(key, row.real(column));
          ++column;
        }
        members.add("correlations", fmt::format("[{}]", linkedTo(row.integer(4))));
        event(
            R"({{"ph": "X", "cat": "library_call", "name": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
            quoted(row.id<StringId>(2)), m_pid, tidOf(row.id<ThreadId>(3)), at(row.integer(0)), micros(row.integer(1)),
            members.take());
      });
}

// What is of no process stands with the first.
Status ChromeWriter::diagnosticEvents() {
  const bool isFirst = m_process == &m_trace.processes().front();
  return each(
      fmt::format("SELECT start_ns, severity, lane, code, count, message FROM main.diagnostic WHERE process_id = ?1{}"
                  " ORDER BY id",
                  isFirst ? " OR process_id IS NULL" : "")
          .c_str(),
      [&](Statement& row) {
        event(
            R"({{"ph": "i", "s": "p", "cat": "diagnostic", "name": {}, "pid": {}, "tid": 0, "ts": {}, "args": {{"severity": {}, "lane": {}, "code": {}, "count": {}}}}})",
            jsonText(row.text(5)), m_pid, at(row.integer(0)), jsonText(row.text(1)), jsonText(row.text(2)),
            jsonText(row.text(3)), row.integer(4));
      });
}

}  // namespace plumb::exports
