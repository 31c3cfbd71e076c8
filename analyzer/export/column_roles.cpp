// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/column_roles.h"

#include <fmt/format.h>

#include <map>

namespace plumb::exports {

TimeMeaning timeMeaningOf(std::string_view column) {
  if (column == "start_ns" || column.ends_with("_start_ns") || column == "end_ns" || column == "started_ns" ||
      column == "completed_ns") {
    return TimeMeaning::Moment;
  }
  if (column == "duration_ns" || column.ends_with("_duration_ns") || column == "timeout_ns") return TimeMeaning::Length;
  if (column == "monotonic_ns" || column == "realtime_ns" || column == "cupti_ns") return TimeMeaning::OtherClock;
  return TimeMeaning::Unknown;
}

Result<std::vector<Column>> describeColumns(schema::Database& database, const std::string& table) {
  std::map<std::string, std::string> references;
  auto keys = database.prepare(fmt::format("SELECT \"from\", \"table\" FROM pragma_foreign_key_list('{}')", table));
  if (!keys.ok()) return keys.error();
  while (keys.value().next()) references.emplace(keys.value().text(0), keys.value().text(1));
  auto rows = database.prepare(fmt::format("SELECT name, pk, type FROM pragma_table_info('{}') ORDER BY cid", table));
  if (!rows.ok()) return rows.error();
  std::vector<Column> columns;
  while (rows.value().next()) {
    Column column{rows.value().text(0), ColumnRole::Plain, {}};
    const auto reference = references.find(column.name);
    if (reference != references.end()) {
      column.role = reference->second == "string" ? ColumnRole::Text : ColumnRole::Reference;
      column.table = reference->second;
    } else if (column.name == "id" && rows.value().integer(1) == 1) {
      column.role = ColumnRole::Key;
      column.table = table;
    } else if (timeMeaningOf(column.name) == TimeMeaning::Moment) {
      column.role = ColumnRole::Moment;
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace plumb::exports
