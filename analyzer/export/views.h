// SPDX-License-Identifier: Apache-2.0
// What an export as tables (CSV, Parquet) holds: the public views (collector/schema/views.sql), and the tables whose
// rows no view shows whole, with texts in place of their ids and the rank of their process.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/trace.h"

namespace plumb::exports {

[[nodiscard]] std::vector<std::string> publicViews();

struct TableShown {
  std::string_view table;
  std::string_view in;  // the view that shows it, or what else does; "": it is exported itself
};
// Every table of the schema.
[[nodiscard]] std::span<const TableShown> tablesShown();

struct ExportedTable {
  std::string name;
  std::string from;  // what stands behind FROM to read it
  bool isView = true;
};
// The views first.
[[nodiscard]] Result<std::vector<ExportedTable>> exportedTables();

// "Not in it: the tables a, b, which are not of the trace format.", "" when there are none.
[[nodiscard]] Result<std::string> foreignTablesText(Trace& trace);

}  // namespace plumb::exports
