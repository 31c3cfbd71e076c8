// SPDX-License-Identifier: Apache-2.0
// SQL functions that reports and users' queries have beside SQLite's own. Aggregates leave NULLs out, as SQLite's do,
// and give NULL for no value; a text that is no number is an error.
//   median(x)          the middle value, the mean of the two middle ones for an even count
//   percentile(x, p)   p in 0..100, linear interpolation between neighbours: percentile(x, 50) is median(x). Not 0..1:
//                      percentile(x, 0.9) is nearly the smallest value. The p of the group's first row holds.
//   stddev(x)          sample standard deviation (n - 1); NULL for fewer than two values
//   geometric_mean(x)  exp of the mean of ln x; NULL when any x is 0 or negative
//   histogram(x[, n])  JSON text, an array of n (1..10000, else 10) bins of one width from the least to the largest
//   value:
//                      [{"low":0.0,"high":2.5,"count":3}, …]. A value on a border is in the upper bin, the largest one
//                      in the last; infinite values are left out; one bin when all are alike.
// And a scalar:
//   demangle(name)     a C++ symbol as source text, kernel<float>(int); what is no mangled name stays as it is
#pragma once

struct sqlite3;

namespace plumb {

// SQLite's result code.
[[nodiscard]] int registerFunctions(sqlite3* database) noexcept;

}  // namespace plumb
