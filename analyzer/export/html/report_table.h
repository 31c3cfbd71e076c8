// SPDX-License-Identifier: Apache-2.0
// The rows of a report as a table of the page: headings in words, times and sizes in units that fit, each with its
// exact value in a tip.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/reports/reports.h"
#include "analyzer/trace/database.h"

namespace plumb::exports {

// "exposed_communication_ns" (ns) is "Exposed communication", "algbw_bytes_per_s" "Algorithm bandwidth": the unit is in
// the cells, or behind the words where they do not have it.
[[nodiscard]] std::string columnTitle(std::string_view name, std::string_view unit);
// Of all columns; what would be the same twice says what it is of: "Total time", "Total bytes".
[[nodiscard]] std::vector<std::string> columnTitles(const std::vector<ReportColumn>& columns);

struct ReportTable {
  std::string html;
  uint64_t rows = 0;
  uint64_t notShown = 0;  // of them
};
// Of a prepared report. Columns without a value in any row are left out, and the process id where each row has a rank.
[[nodiscard]] Result<ReportTable> tableOf(Statement& statement, const Report& report, size_t mostRows);

}  // namespace plumb::exports
