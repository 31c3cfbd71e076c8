// SPDX-License-Identifier: Apache-2.0
// The trace as an SQLite file with the tables of Nsight Systems' export, for programs that look for tables: the views
// of collector/schema/nsys_views.sql, stored. Tables without rows are left out, as Nsight Systems does.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/export/contents.h"
#include "analyzer/trace/trace.h"
#include "collector/schema/result.h"

namespace plumb::exports {

struct NsysExported {
  int64_t tables = 0, rows = 0;
  std::vector<LeftOut> leftOut;  // what those have no place for
};

// Refuses a name that is taken unless `replace`. All of it or nothing. writeFailed is set when the error is one of
// writing the file (its disk is full).
[[nodiscard]] Result<NsysExported> exportNsys(Trace& trace, const std::string& path, bool replace,
                                              bool* writeFailed = nullptr);

}  // namespace plumb::exports
