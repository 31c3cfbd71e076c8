// SPDX-License-Identifier: Apache-2.0
// Count, sum, mean, median, extremes and spread of a sample of durations, as every table of totals shows them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/trace/computed_table.h"

namespace plumb {

struct SampleStatistics {
  int64_t count = 0;
  int64_t total = 0;  // at most INT64_MAX
  int64_t shortest = 0, longest = 0;
  double mean = 0, median = 0;   // the median of an even count is the mean of the two middle ones
  std::optional<double> stddev;  // of the sample (n - 1); none for fewer than two
};

// Keeps every value: 8 bytes each.
class Sample {
 public:
  void add(int64_t value) { m_values.push_back(value); }
  [[nodiscard]] size_t count() const { return m_values.size(); }
  // Reorders the values; all members 0 for an empty sample.
  [[nodiscard]] SampleStatistics statistics();

 private:
  std::vector<int64_t> m_values;
};

// a + b, or the nearest number that there is.
[[nodiscard]] inline int64_t addSaturated(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

// Appends total, mean, median, shortest, longest, stddev; NULLs for an empty sample.
void appendStatistics(CellRow& row, Sample& sample);
inline constexpr const char* kStatisticsColumns =
    "total_ns INTEGER, avg_ns REAL, median_ns REAL, min_ns INTEGER, max_ns INTEGER, stddev_ns REAL";

}  // namespace plumb
