// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "analyzer/analyses/timeline.h"
#include "analyzer/analyses/timeline_text.h"

namespace plumb::timeline {
namespace {

std::string durationText(int64_t ns) {
  const double value = static_cast<double>(ns);
  std::array<char, 64> text{};
  if (ns >= 1'000'000'000) {
    std::snprintf(text.data(), text.size(), "%.6f s", value / 1e9);
  } else if (ns >= 1'000'000) {
    std::snprintf(text.data(), text.size(), "%.6f ms", value / 1e6);
  } else if (ns >= 1'000) {
    std::snprintf(text.data(), text.size(), "%.3f µs", value / 1e3);
  } else {
    std::snprintf(text.data(), text.size(), "%" PRId64 " ns", ns);
  }
  return text.data();
}

const char* detailQuery(SliceKind kind) {
  switch (kind) {
    case SliceKind::kKernel:
    case SliceKind::kCommunication:
      return "SELECT * FROM kernels WHERE id = ?1";
    case SliceKind::kCopy:
      return "SELECT * FROM copies WHERE id = ?1";
    case SliceKind::kSet:
      return "SELECT * FROM memory_sets WHERE id = ?1";
    case SliceKind::kApiCall:
    case SliceKind::kSynchronization:
      return "SELECT * FROM api_calls WHERE id = ?1";
    case SliceKind::kStep:
    case SliceKind::kRange:
      return "SELECT * FROM ranges WHERE id = ?1";
    case SliceKind::kCollective:
    case SliceKind::kStuck:
      return "SELECT * FROM collectives WHERE id = ?1";
    case SliceKind::kOsCall:
      return "SELECT * FROM os_calls WHERE id = ?1";
  }
  return "";
}

bool endsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string valueText(std::string_view column, const Statement& s, int index) {
  if (s.type(index) == ValueType::Integer) {
    const int64_t value = s.integer(index);
    if (endsWith(column, "duration_ns")) return durationText(value);
    if (endsWith(column, "bytes") || column == "local_bytes_per_thread") {
      return value < 1024 ? bytesText(value) : bytesText(value) + " (" + std::to_string(value) + " B)";
    }
    if (endsWith(column, "_ns")) return std::to_string(value) + " ns";
    if (column == "communicator" || column == "address") {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "0x%" PRIx64, static_cast<uint64_t>(value));
      return text.data();
    }
    return std::to_string(value);
  }
  return std::string(s.text(index));
}

// The value brings its unit, which may be another than the column's.
std::string labelOf(const std::string& column) {
  return endsWith(column, "_ns") ? column.substr(0, column.size() - 3) : column;
}

}  // namespace

Result<std::vector<DetailField>> loadDetails(Trace& trace, SliceKind kind, int64_t id) {
  std::vector<DetailField> fields;
  auto prepared = trace.query(detailQuery(kind));
  if (!prepared.ok()) return prepared.error();
  Statement& statement = prepared.value();
  statement.bind(1, id);
  if (statement.next()) {
    for (int i = 0; i < statement.columnCount(); ++i) {
      if (statement.isNull(i)) continue;
      const std::string column(statement.columnName(i));
      fields.push_back({labelOf(column), valueText(column, statement, i)});
    }
  }
  if (const Status status = statement.status(); !status.ok()) return status.error();
  if (kind != SliceKind::kRange && kind != SliceKind::kStep) return fields;
  auto payload = trace.query(
      "SELECT s.text, p.value FROM range_payload p JOIN string s ON s.id = p.name_id WHERE p.range_id = ?1");
  if (!payload.ok()) return payload.error();
  payload.value().bind(1, id);
  while (payload.value().next())
    fields.push_back({"payload: " + std::string(payload.value().text(0)), std::string(payload.value().text(1))});
  if (const Status status = payload.value().status(); !status.ok()) return status.error();
  return fields;
}

}  // namespace plumb::timeline
