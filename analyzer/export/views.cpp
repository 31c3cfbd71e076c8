// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analyzer/export/column_roles.h"
#include "collector/schema/schema.h"

namespace plumb::exports {
namespace {

constexpr TableShown kShown[] = {
    {"meta", ""},
    {"string", "the texts of the others"},
    {"process", "processes"},
    {"process_variable", ""},
    {"thread", ""},
    {"device", "devices"},
    {"device_roof", ""},
    {"stream", "streams"},
    {"kernel", "kernels"},
    {"memory_copy", "copies"},
    {"memory_set", "memory_sets"},
    {"api_call", "api_calls"},
    {"synchronization", "synchronizations"},
    {"range", "ranges"},
    {"range_payload", ""},
    {"communicator", ""},
    {"collective", "collectives"},
    {"library_call", ""},
    {"correlation_link", ""},
    {"allocation", "allocations"},
    {"deallocation", "allocations"},
    {"memory_region", ""},
    {"memory_region_end", ""},
    {"memory_category", "the same in every file"},
    {"counter_sample", ""},
    {"clock_pair", ""},
    {"plugin", ""},
    {"diagnostic", "diagnostics"},
    {"stack", "stacks"},
    {"stack_frame", "stacks"},
    {"allocation_detail", "allocations"},
    {"communicator_member", ""},
    {"communicator_state", ""},
    {"collective_state", "collective_states"},
    {"collective_timing", ""},
    {"collective_benchmark", "collective_benchmarks"},
    {"operator", "operators"},
    {"operator_launch", ""},
    {"operator_argument_set", ""},
    {"python_call", "python_calls"},
    {"flow", ""},
    {"collective_detail", ""},
    {"synchronization_event", ""},
    {"os_call", "os_calls"},
    {"api_call_stack", ""},
    {"event_record", ""},
    {"memory_copy_bandwidth", ""},
    {"memory_set_bandwidth", ""},
};

// (SELECT … FROM table …), with a column "name" for a column "name_id" that is the id of a text.
std::string selectOf(const std::string& table, const std::vector<Column>& columns) {
  std::string names, joins;
  constexpr std::string_view kId = "_id";
  for (const Column& column : columns) {
    std::string_view shown = column.name;
    std::string value = fmt::format("t.\"{}\"", column.name);
    if (column.role == ColumnRole::Text) {
      if (shown.ends_with(kId)) shown.remove_suffix(kId.size());
      joins += fmt::format(" LEFT JOIN main.string \"of_{0}\" ON \"of_{0}\".id = t.\"{1}\"", shown, column.name);
      value = fmt::format("\"of_{}\".text", shown);
    } else if (column.name == "process_id") {
      names = "p.rank, " + names;
      joins += " LEFT JOIN main.process p ON p.id = t.process_id";
    }
    names += fmt::format("{} AS \"{}\", ", value, shown);
  }
  names.resize(names.size() - 2);
  return fmt::format("(SELECT {} FROM \"{}\" t{})", names, table, joins);
}

}  // namespace

std::vector<std::string> publicViews() {
  std::vector<std::string> names;
  const std::string_view sql = schema::ownViewsSql();
  constexpr std::string_view kCreate = "CREATE VIEW ";
  for (size_t at = sql.find(kCreate); at != std::string_view::npos; at = sql.find(kCreate, at + 1)) {
    const size_t first = at + kCreate.size();
    names.emplace_back(sql.substr(first, sql.find_first_of(" \n", first) - first));
  }
  return names;
}

std::span<const TableShown> tablesShown() { return kShown; }

Result<std::vector<ExportedTable>> exportedTables() {
  std::vector<ExportedTable> tables;
  for (std::string& view : publicViews()) {
    tables.push_back({view, view, true});
  }
  // The columns are those of the trace format, whatever a file says of its own.
  auto opened = schema::Database::open(":memory:", schema::Locking::None);
  if (!opened.ok()) return opened.error();
  schema::Database database = std::move(opened).value();
  if (Status made = database.execute(std::string(schema::tablesSql())); !made.ok()) return made.error();
  for (const TableShown& shown : kShown) {
    if (!shown.in.empty()) continue;
    const std::string name(shown.table);
    auto columns = describeColumns(database, name);
    if (!columns.ok()) return columns.error();
    tables.push_back({name, selectOf(name, columns.value()), false});
  }
  return tables;
}

Result<std::string> foreignTablesText(Trace& trace) {
  auto rows = trace.query("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  if (!rows.ok()) return rows.error();
  std::string others;
  while (rows.value().next()) {
    const std::string_view name = rows.value().text(0);
    if (std::ranges::find(kShown, name, &TableShown::table) != std::end(kShown)) continue;
    others += fmt::format("{}{}", others.empty() ? "" : ", ", name);
  }
  if (Status read = rows.value().status(); !read.ok()) return read.error();
  if (others.empty()) return others;
  return fmt::format("Not in it, as they are not of the trace format: the file's own tables {}.", others);
}

}  // namespace plumb::exports
