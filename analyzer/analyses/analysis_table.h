// SPDX-License-Identifier: Apache-2.0
// What an analysis needs to become a table of SQL: each family of analyses has a file NAME_tables.cpp with a list of
// these, and analysis_tables.cpp has the list of families.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/computed_table.h"
#include "analyzer/trace/trace.h"

namespace plumb {

using AnalysisRows = Result<std::vector<CellRow>>;
using AnalysisStore = Result<RowStore>;

struct AnalysisTable {
  const char* name;     // "analysis_breakdown"
  const char* columns;  // "rank INTEGER, pid INTEGER, span_ns INTEGER"
  AnalysisRows (*rows)(Trace&, const Filter&);
  // In place of rows (null) where there can be very many.
  AnalysisStore (*store)(Trace&, const Filter&) = nullptr;
};

[[nodiscard]] inline Cell cell(std::optional<int64_t> value) { return value ? Cell(*value) : Cell(nullptr); }
[[nodiscard]] inline Cell cell(std::optional<double> value) { return value ? Cell(*value) : Cell(nullptr); }
[[nodiscard]] inline Cell cell(Duration value) { return value.ns(); }
[[nodiscard]] inline Cell cell(std::optional<Duration> value) { return value ? Cell(value->ns()) : Cell(nullptr); }
[[nodiscard]] inline Cell cell(TimePoint value) { return value.ns(); }
[[nodiscard]] inline Cell textCell(std::string_view value) { return std::string(value); }
// NULL for a process or device that the trace does not have.
[[nodiscard]] Cell rankOf(const Trace& trace, ProcessId id);
[[nodiscard]] Cell pidOf(const Trace& trace, ProcessId id);
[[nodiscard]] Cell ordinalOf(const Trace& trace, std::optional<DeviceId> id);

}  // namespace plumb
