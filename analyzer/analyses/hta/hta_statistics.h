// SPDX-License-Identifier: Apache-2.0
// Statistics and orders as pandas computes them.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace plumb::hta {

// DataFrame.describe(): the sample's standard deviation, percentiles interpolated linearly.
struct Description {
  int64_t count = 0;
  double mean = 0, min = 0, p25 = 0, p50 = 0, p75 = 0, max = 0;
  std::optional<double> std;  // none for one value
};
[[nodiscard]] Description describe(std::vector<double> values);  // at least one
[[nodiscard]] double quantile(const std::vector<double>& sorted, double q);
[[nodiscard]] double rounded(double value, int digits);  // half to even
}  // namespace plumb::hta
