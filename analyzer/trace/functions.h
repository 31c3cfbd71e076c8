// SPDX-License-Identifier: Apache-2.0
// SQL functions that reports and users' queries have beside SQLite's own. NULLs are left out, as in SQLite's
// aggregates; all give NULL for no value.
//   median(x)         the middle value, the mean of the two middle ones for an even count
//   percentile(x, p)  p in 0..100, linear interpolation between neighbours
//   stddev(x)         sample standard deviation (n - 1); NULL for fewer than two values
#pragma once

struct sqlite3;

namespace plumb {

// SQLite's result code.
[[nodiscard]] int registerFunctions(sqlite3* database) noexcept;

}  // namespace plumb
