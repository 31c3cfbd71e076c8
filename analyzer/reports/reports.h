// SPDX-License-Identifier: Apache-2.0
// Reports: one .sql file per question. Its first comment lines (after an SPDX line) are the title, the question, and a
// line for each column: `-- name (unit): what it is`. The SQL may use the parameter :rank (null: all ranks) and the
// tables of analyses/analysis_tables.h. The program's own are built in; a file of the same name in a user's folder
// takes their place.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "collector/schema/result.h"

namespace plumb {

struct ReportColumn {
  std::string name;
  std::string unit;  // "" for none
  std::string description;
};

struct Report {
  std::string name;
  std::string title;
  std::string question;
  std::vector<ReportColumn> columns;
  std::string sql;     // the whole file
  std::string origin;  // path, or "built in"
};

[[nodiscard]] Result<Report> parseReport(std::string_view name, std::string_view text, std::string_view origin);

// By name. A folder that does not exist holds no reports; a file that is not a report is an error that names it.
[[nodiscard]] Result<std::vector<Report>> findReports(const std::vector<std::string>& userFolders);

}  // namespace plumb
