// SPDX-License-Identifier: Apache-2.0
// Rows that a command made itself, written like those of a report: the four formats, units and escapes are the same.
#pragma once
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "analyzer/cli/output.h"
#include "analyzer/trace/database.h"

namespace plumb::cli {

// `rows` is an array of objects; of each the columns are written, in their order, NULL for what it lacks. Any open
// database will do.
[[nodiscard]] Status writeObjects(Database& database, const nlohmann::json& rows,
                                  const std::vector<ReportColumn>& columns, Format format, std::FILE* out);

}  // namespace plumb::cli
