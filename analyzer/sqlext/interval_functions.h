// SPDX-License-Identifier: Apache-2.0
// Interval arithmetic for SQL; all of it is that of analyzer/intervals. Times are integer nanoseconds, intervals
// half-open.
//
// An aggregate:
//   interval_union_ns(start_ns, duration_ns)   how long at least one of the intervals runs; NULL without any
//
// Table functions over the rows of a query (or two). A query has the columns start_ns and duration_ns (or end_ns); with
// a column key, each key is looked at for itself. Rows whose start or duration is not a number, whose duration is
// negative, or that lie beyond what a trace can hold are left out; an empty interval adds nothing. The result has
// start_ns, end_ns, duration_ns and key (NULL without one).
//   interval_union(query)          the time that is covered, in disjoint intervals that do not touch
//   interval_intersect(a, b)       the time that both cover
//   interval_subtract(a, b)        the time that a covers and b does not
//   span_join(a, b)                a row for each pair of intervals that share time, with that time, and up to four
//                                  further columns of each query as left_1 … left_4 and right_1 … right_4
// The queries read on the same connection. Cost: n log n, and for span_join the pairs.
#pragma once
#include "analyzer/trace/database.h"

namespace plumb {

// `database` must not be moved while its connection is in use.
[[nodiscard]] Status registerIntervalFunctions(Database& database);

}  // namespace plumb
